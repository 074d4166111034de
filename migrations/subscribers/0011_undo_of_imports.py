"""The undo of an import: its states, its counts and its checkpoint."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import F, Q

STATES = (
    ("checking", "is being checked"),
    ("checked", "checked, not imported"),
    ("waiting", "waits for a worker"),
    ("running", "is being imported"),
    ("finished", "finished"),
    ("refused", "refused"),
    ("expired", "never imported, deleted"),
    ("undoing", "is being undone"),
    ("undone", "undone"),
)
COUNTS = ("undone", "kept_mailed", "kept_opted_in", "kept_changed")
CHECKS = {
    "import_state_is_known": Q(state__in=[state for state, _ in STATES]),
    "an_import_that_has_ended_says_when": Q(
        finished_at__isnull=False,
        state__in=["finished", "refused", "expired", "undoing", "undone"],
    )
    | Q(finished_at__isnull=True, state__in=["checking", "checked", "waiting", "running"]),
    "an_undone_import_says_when": Q(state="undone", undone_at__isnull=False)
    | (~Q(state="undone") & Q(undone_at__isnull=True)),
    "an_undo_counts_added_readers_once": Q(
        added__gte=F("undone") + F("kept_mailed") + F("kept_opted_in") + F("kept_changed")
    ),
}


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0010_edited_readers")]

    operations = [
        *(
            migrations.RemoveConstraint("subscriberimport", name)
            for name in (
                "one_import_per_content",
                "import_state_is_known",
                "an_import_that_has_ended_says_when",
            )
        ),
        *(
            migrations.AddField(
                "subscriberimport", name, models.PositiveIntegerField(db_default=0, default=0)
            )
            for name in COUNTS
        ),
        migrations.AddField(
            "subscriberimport",
            "undo_checkpoint",
            models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField("subscriberimport", "undone_at", models.DateTimeField(null=True)),
        migrations.AlterField(
            "subscriberimport",
            "state",
            models.CharField(
                choices=list(STATES), db_default="waiting", default="waiting", max_length=8
            ),
        ),
        migrations.AddConstraint(
            "subscriberimport",
            models.UniqueConstraint(
                fields=["content_hash"],
                condition=~Q(state__in=["expired", "undone"]),
                name="one_import_per_content",
            ),
        ),
        *(
            AddConstraintNotValid(
                "subscriberimport", models.CheckConstraint(condition=check, name=name)
            )
            for name, check in CHECKS.items()
        ),
    ]
