"""Migrations since the last release only add, so old workers keep working."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import apps
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
from tests.newsletter_site.migrating.additive import EXCEPTIONS, unsafe_operations
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


def unsafe_since_the_last_release() -> list[str]:
    if not releases():
        return []
    later, state = migrations_since(releases()[-1])
    return unsafe_operations(later, state, settings.OUR_APPS)


def test_every_migration_since_the_last_release_only_adds() -> None:
    # The test also fails if an entry of EXCEPTIONS is not needed.
    assert sorted(unsafe_since_the_last_release()) == sorted(EXCEPTIONS)


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
    """Return a state with two tables that old code uses."""
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


def unsafe(*operations: Any, atomic: bool = True) -> Sequence[str]:
    migration = migrations.Migration("0002_later", "delivery")
    migration.operations = list(operations)
    migration.atomic = atomic
    return unsafe_operations([migration], before(), ["delivery"])


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
        assert unsafe(operation) == [], operation


INDEX = models.Index(fields=["size"], name="by_size")
GENERATED = models.GeneratedField(
    expression=models.F("size"), output_field=models.IntegerField(), db_persist=True
)
UNSAFE = [
    # Old code still reads this column and these tables.
    migrations.RemoveField("batch", "size"),
    migrations.DeleteModel("Batch"),
    migrations.RenameField("batch", "size", "copies"),
    migrations.RenameModel("Batch", "Bundle"),
    migrations.AlterModelTable("batch", "bundle"),
    # Old code does not know these columns, and writes nothing there.
    add(models.TextField()),
    add(models.TextField(default="")),
    # With these, PostgreSQL reads or rewrites every row while it locks the table.
    add(models.TextField(null=True, unique=True)),
    add(models.TextField(null=True, db_index=True)),
    add(models.TextField(db_default=Coalesce("reason", "state"))),
    add(models.ForeignKey("edition", models.CASCADE, null=True, db_index=False)),
    add(GENERATED),
    alter("size", models.BigIntegerField()),
    alter("size", models.IntegerField(unique=True)),
    migrations.AddIndex("batch", INDEX),
    migrations.RemoveIndex("batch", "batch_size"),
    postgres.AddIndexConcurrently("batch", INDEX),  # This operation needs atomic = False.
    migrations.AddConstraint("batch", SIZE_IS_SOUND),
    # These changes would refuse values that old code writes.
    alter("state", models.CharField(max_length=10)),
    alter("state", models.CharField(max_length=5, null=True)),
    alter("reason", models.CharField(max_length=5)),
    # Old code may use ON CONFLICT on these columns, which fails if they are no longer unique.
    migrations.RemoveConstraint("batch", "one_of_each_state"),
    # Old code leaves this column out of its inserts, so the default must stay.
    alter("left", models.IntegerField()),
    alter("left", models.IntegerField(null=True)),
    migrations.AlterUniqueTogether("batch", {("size", "state")}),
    # These operations need a reason in EXCEPTIONS.
    migrations.RunSQL("UPDATE batch SET size = 1"),
    migrations.RunPython(migrations.RunPython.noop),
    migrations.SeparateDatabaseAndState([migrations.RunSQL("SELECT 1")]),
    SqlFile("delivery/queue/sql/a_changed_batch_is_not_rolled_up.sql"),
    SqlFile("subscribers/fields/sql/a_left_topic_is_no_tag.sql"),
    postgres.TrigramExtension(),
]


def test_changes_that_affect_old_code_are_unsafe() -> None:
    for operation in UNSAFE:
        assert len(unsafe(operation)) == 1, operation


def test_an_index_is_built_concurrently_and_alone() -> None:
    concurrently = postgres.AddIndexConcurrently("batch", INDEX)
    assert unsafe(concurrently, atomic=False) == []
    assert unsafe(concurrently, add(models.TextField(null=True)), atomic=False) == [
        "delivery.0002_later: Add field new to batch"
    ]


def test_a_constraint_is_validated_in_a_later_migration() -> None:
    not_valid = postgres.AddConstraintNotValid("batch", SIZE_IS_SOUND)
    assert len(unsafe(not_valid, postgres.ValidateConstraint("batch", "size_is_sound"))) == 1


def test_one_migration_locks_at_most_one_existing_table() -> None:
    one, other = (add(models.TextField(null=True), to=table) for table in ("batch", "edition"))
    assert unsafe(one) == unsafe(other) == []
    both = ["delivery.0002_later: locks delivery.batch, delivery.edition"]
    assert unsafe(one, other) == both
    # A new table with a foreign key locks the table that the key refers to.
    points = models.ForeignKey("delivery.edition", models.CASCADE)
    key = ("id", models.BigAutoField(primary_key=True))
    pointing = migrations.CreateModel("Tally", [key, ("edition", points)])
    assert unsafe(pointing) == []
    assert unsafe(pointing, one) == both


def test_a_migration_may_change_its_own_new_table() -> None:
    index = models.Index(fields=["id"], name="by_id")
    assert unsafe(A_TABLE, migrations.AddIndex("tally", index)) == []
    assert unsafe(A_TABLE, migrations.DeleteModel("Tally")) == []


def test_choices_are_not_part_of_migrations() -> None:
    ours = [model for app in settings.OUR_APPS for model in apps.get_app_config(app).get_models()]
    chosen = [each for model in ours for each in model._meta.get_fields() if _has_choices(each)]

    assert chosen
    assert [str(each) for each in chosen if "choices" in each.deconstruct()[3]] == []


def _has_choices(field: Any) -> bool:
    return bool(getattr(field, "choices", None))
