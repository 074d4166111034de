"""Migrations since the last release only add, so old workers keep working."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.postgres import operations as postgres
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState
from django.db.models import Q
from django.db.models.functions import Now
from django.db.models.functions.comparison import Coalesce
from django.test import override_settings

from migrations.sql_file import SqlFile
from tests.faults.next_release import settings as next_release
from tests.newsletter_site.migrating.additive import EXCEPTIONS, UnsafeOperation, unsafe_operations
from tests.newsletter_site.migrating.releases import Release, releases


def migrations_since(release: Release) -> tuple[list[migrations.Migration], ProjectState]:
    """Return the migrations after a release, in order, and the state at the release."""
    loader = MigrationLoader(None)
    released = set()
    for last in release.last_migrations:
        released.update(loader.graph.forwards_plan(last))
    plan = loader.graph._generate_plan(loader.graph.leaf_nodes(), at_end=True)
    later = [loader.graph.nodes[node] for node in plan if node not in released]
    return later, loader.project_state(list(release.last_migrations))


def unsafe_since_the_last_release() -> list[UnsafeOperation]:
    if not releases():
        return []
    later, state = migrations_since(releases()[-1])
    return unsafe_operations(later, state, settings.OUR_APPS)


def test_every_migration_since_the_last_release_only_adds() -> None:
    unsafe = unsafe_since_the_last_release()
    assert [str(one) for one in unsafe if (one.migration, one.operation) not in EXCEPTIONS] == []


def test_every_exception_excuses_something() -> None:
    unsafe = {(one.migration, one.operation) for one in unsafe_since_the_last_release()}
    assert [one for one in EXCEPTIONS if one not in unsafe] == []


def test_a_made_up_next_release_only_adds() -> None:
    today = tuple(
        node for node in MigrationLoader(None).graph.leaf_nodes() if node[0] in settings.OUR_APPS
    )
    with override_settings(MIGRATION_MODULES=next_release.MIGRATION_MODULES):
        later, state = migrations_since(Release("today", "", today))
    names = [one.name for one in later if one.app_label == "delivery"]
    assert [name[:6] for name in names] == ["later_"] * 5
    assert unsafe_operations(later, state, settings.OUR_APPS) == []


def before() -> ProjectState:
    """Two tables that old code uses."""
    state = ProjectState()
    for name in ("Batch", "Edition"):
        state.add_model(
            ModelState(
                "delivery",
                name,
                [
                    ("id", models.BigAutoField(primary_key=True)),
                    ("state", models.CharField(max_length=10, null=True)),
                    ("reason", models.TextField(help_text="Why.")),
                    ("size", models.IntegerField()),
                    ("left", models.IntegerField(db_default=0)),
                ],
                options={
                    "indexes": [models.Index(fields=["size"], name=f"{name.lower()}_size")],
                    "constraints": [
                        models.UniqueConstraint(fields=["state"], name="one_of_each_state"),
                        models.CheckConstraint(condition=Q(size__lt=9), name="size_is_small"),
                    ],
                },
            )
        )
    return state


def advice_on(*operations: Any, atomic: bool = True) -> Sequence[str]:
    migration = migrations.Migration("0002_later", "delivery")
    migration.operations = list(operations)
    migration.atomic = atomic
    return [one.instead for one in unsafe_operations([migration], before(), ["delivery"])]


def add(field: models.Field[Any, Any], to: str = "batch") -> migrations.AddField:
    return migrations.AddField(to, "new", field)


def alter(name: str, field: models.Field[Any, Any]) -> migrations.AlterField:
    return migrations.AlterField("batch", name, field)


A_TABLE = migrations.CreateModel("Tally", [("id", models.BigAutoField(primary_key=True))])
SIZE_IS_SOUND = models.CheckConstraint(condition=Q(size__gte=0), name="size_is_sound")


def test_additive_changes_are_safe() -> None:
    for operation in (
        A_TABLE,
        add(models.TextField(null=True)),
        add(models.TextField(db_default="")),
        add(models.DateTimeField(db_default=Now())),
        alter("reason", models.TextField(help_text="Why, in a sentence.")),
        alter("reason", models.TextField(null=True)),
        alter("reason", models.TextField(db_default="")),
        alter("state", models.CharField(max_length=20, null=True)),
        alter("left", models.IntegerField(db_default=1)),
        migrations.RemoveConstraint("batch", "size_is_small"),
        postgres.AddConstraintNotValid("batch", SIZE_IS_SOUND),
        postgres.ValidateConstraint("batch", "batch_is_sound"),
        migrations.AlterModelOptions("batch", {"verbose_name": "bundle"}),
        SqlFile("delivery/queue/sql/claim_batch.sql"),
    ):
        assert advice_on(operation) == [], operation


# Unsafe operations, each with a part of the advice.
FELT: list[tuple[Any, str]] = [
    (migrations.RemoveField("batch", "size"), "a release later"),
    (migrations.DeleteModel("Batch"), "a release later"),
    (migrations.RenameField("batch", "size", "copies"), "a release later"),
    (migrations.RenameModel("Batch", "Bundle"), "a release later"),
    (migrations.AlterModelTable("batch", "bundle"), "a release later"),
    (add(models.TextField()), "null or give it a db_default"),
    (add(models.TextField(default="")), "null or give it a db_default"),
    (add(models.TextField(null=True, unique=True)), "the index concurrently"),
    (add(models.TextField(null=True, db_index=True)), "the index concurrently"),
    (add(models.TextField(db_default=Coalesce("reason", "state"))), "written anew"),
    (
        add(models.ForeignKey("edition", models.CASCADE, null=True, db_index=False)),
        "db_constraint=False",
    ),
    (
        add(
            models.GeneratedField(
                expression=models.F("size"), output_field=models.IntegerField(), db_persist=True
            )
        ),
        "written anew",
    ),
    (alter("state", models.CharField(max_length=10)), "still writes nothing"),
    (alter("state", models.CharField(max_length=5, null=True)), "longer values of old code"),
    (alter("reason", models.CharField(max_length=5)), "longer values of old code"),
    # An ON CONFLICT on columns that are no longer unique is an error, even without rows.
    (migrations.RemoveConstraint("batch", "one_of_each_state"), "relies on it"),
    (alter("left", models.IntegerField()), "leaves that column out"),
    (alter("left", models.IntegerField(null=True)), "leaves that column out"),
    (alter("size", models.BigIntegerField()), "add a new column"),
    (alter("size", models.IntegerField(unique=True)), "add a new column"),
    (
        migrations.AddIndex("batch", models.Index(fields=["size"], name="by_size")),
        "AddIndexConcurrently",
    ),
    (migrations.RemoveIndex("batch", "batch_size"), "RemoveIndexConcurrently"),
    (
        postgres.AddIndexConcurrently("batch", models.Index(fields=["size"], name="by_size")),
        "atomic = False",
    ),
    (migrations.AddConstraint("batch", SIZE_IS_SOUND), "AddConstraintNotValid"),
    (migrations.AlterUniqueTogether("batch", {("size", "state")}), "concurrently"),
    (migrations.RunSQL("UPDATE batch SET size = 1"), "EXCEPTIONS"),
    (migrations.RunPython(migrations.RunPython.noop), "EXCEPTIONS"),
    (migrations.SeparateDatabaseAndState([migrations.RunSQL("SELECT 1")]), "EXCEPTIONS"),
    (SqlFile("delivery/queue/sql/a_changed_batch_is_not_rolled_up.sql"), "EXCEPTIONS"),
    (SqlFile("subscribers/fields/sql/a_left_topic_is_no_tag.sql"), "EXCEPTIONS"),
    (postgres.TrigramExtension(), "not known to be safe"),
]


def test_changes_that_affect_old_code_are_unsafe() -> None:
    for operation, instead in FELT:
        (unsafe,) = advice_on(operation)
        assert instead in unsafe, operation


def test_an_index_is_built_concurrently_and_alone() -> None:
    index = models.Index(fields=["size"], name="by_size")
    concurrently = postgres.AddIndexConcurrently("batch", index)
    assert advice_on(concurrently, atomic=False) == []
    (unsafe,) = advice_on(concurrently, add(models.TextField(null=True)), atomic=False)
    assert "only concurrent operations" in unsafe


def test_a_constraint_is_validated_in_a_later_migration() -> None:
    (unsafe,) = advice_on(
        postgres.AddConstraintNotValid("batch", SIZE_IS_SOUND),
        postgres.ValidateConstraint("batch", "size_is_sound"),
    )
    assert "later migration" in unsafe


def test_one_migration_locks_at_most_one_existing_table() -> None:
    one, other = (add(models.TextField(null=True), to=table) for table in ("batch", "edition"))
    assert advice_on(one) == advice_on(other) == []
    (unsafe,) = advice_on(one, other)
    assert "one migration for each table" in unsafe


def test_a_foreign_key_of_a_new_table_locks_its_target() -> None:
    points = models.ForeignKey("delivery.edition", models.CASCADE)
    key = ("id", models.BigAutoField(primary_key=True))
    pointing = migrations.CreateModel("Tally", [key, ("edition", points)])
    assert advice_on(pointing) == []
    (unsafe,) = advice_on(pointing, add(models.TextField(null=True)))
    assert "one migration for each table" in unsafe


def test_a_migration_may_change_its_own_new_table() -> None:
    index = models.Index(fields=["id"], name="by_id")
    assert advice_on(A_TABLE, migrations.AddIndex("tally", index)) == []
    assert advice_on(A_TABLE, migrations.DeleteModel("Tally")) == []
