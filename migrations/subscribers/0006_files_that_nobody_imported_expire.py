"""A file that was checked and never imported expires, and may come again as a new import."""

from django.db import migrations, models
from django.db.models import Q

# They get their whole time from now on.
SINCE_NOW = "UPDATE subscriber_import SET checked_at = now() WHERE state = 'checked'"
STATES = ["checking", "checked", "waiting", "running", "finished", "refused"]


def _is_known(states):
    return models.CheckConstraint(name="import_state_is_known", condition=Q(state__in=states))


class Migration(migrations.Migration):
    dependencies = [
        ("subscribers", "0005_who_may_be_forgotten_soon"),
    ]

    operations = [
        migrations.AddField(
            model_name="subscriberimport",
            name="checked_at",
            field=models.DateTimeField(
                help_text="Since when what was checked waits for somebody to decide.", null=True
            ),
        ),
        migrations.RunSQL(SINCE_NOW, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="subscriberimport",
            name="state",
            field=models.CharField(
                choices=[
                    ("checking", "is being checked"),
                    ("checked", "checked, not imported"),
                    ("waiting", "waits for a worker"),
                    ("running", "is being imported"),
                    ("finished", "finished"),
                    ("refused", "refused"),
                    ("expired", "never imported, deleted"),
                ],
                db_default="waiting",
                default="waiting",
                max_length=8,
            ),
        ),
        migrations.RemoveConstraint("subscriberimport", "one_import_per_content"),
        migrations.AddConstraint(
            "subscriberimport",
            models.UniqueConstraint(
                name="one_import_per_content",
                fields=["content_hash"],
                condition=~Q(state="expired"),
            ),
        ),
        migrations.RemoveConstraint("subscriberimport", "import_state_is_known"),
        migrations.AddConstraint("subscriberimport", _is_known([*STATES, "expired"])),
        migrations.RemoveConstraint("subscriberimport", "an_import_that_has_ended_says_when"),
        migrations.AddConstraint(
            "subscriberimport",
            models.CheckConstraint(
                name="an_import_that_has_ended_says_when",
                condition=Q(state__in=["finished", "refused", "expired"], finished_at__isnull=False)
                | Q(
                    state__in=["checking", "checked", "waiting", "running"],
                    finished_at__isnull=True,
                ),
            ),
        ),
        migrations.AddConstraint(
            "subscriberimport",
            models.CheckConstraint(
                name="a_checked_import_says_since_when",
                condition=~Q(state="checked") | Q(checked_at__isnull=False),
            ),
        ),
        migrations.AddConstraint(
            "subscriberimport",
            models.CheckConstraint(
                name="an_expired_import_brought_nobody",
                condition=~Q(state="expired") | Q(rows=0, confirmed=False),
            ),
        ),
    ]
