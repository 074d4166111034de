"""Preheaders, issues that wait for their time, test letters, and publishing that takes two."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# The function is that of the content (0002): a preheader is part of it.
FREEZE = """
CREATE TRIGGER the_preheader_of_an_edition_never_changes
    BEFORE UPDATE OF preheader ON edition FOR EACH ROW
    WHEN (OLD.preheader IS DISTINCT FROM NEW.preheader)
    EXECUTE FUNCTION the_content_of_an_edition_never_changes();
"""
THAW = "DROP TRIGGER the_preheader_of_an_edition_never_changes ON edition;"


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0011_what_a_worker_found_wrong"),
        ("publishing", "0005_issues_of_mail_on_request"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="edition",
            name="edition_control_is_known",
        ),
        migrations.RemoveConstraint(
            model_name="edition",
            name="edition_kind_is_known",
        ),
        migrations.AddField(
            model_name="edition",
            name="approved_by",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                help_text="Who agreed to these words, where publishing takes two.",
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="edition",
            name="preheader",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="What an inbox shows beside the subject.",
                max_length=300,
            ),
        ),
        migrations.AddField(
            model_name="edition",
            name="scheduled_for",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="edition",
            name="scheduled_local",
            field=models.CharField(db_default="", default="", max_length=16),
        ),
        migrations.AddField(
            model_name="edition",
            name="scheduled_zone",
            field=models.CharField(db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="second_person",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="An issue is published only after somebody else who may publish has approved exactly its words.",
                verbose_name="publishing takes two",
            ),
        ),
        migrations.AlterField(
            model_name="edition",
            name="control",
            field=models.CharField(
                choices=[
                    ("scheduled", "waits for its time; before it nobody is in its audience"),
                    ("running", "Running"),
                    ("paused", "paused by a person, or by a surge of bounces or complaints"),
                    ("stopped", "stopped by a fault of the account or the content"),
                    ("cancelled", "Cancelled"),
                    ("closed", "closed by a person who accepted what is left"),
                ],
                default="running",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="edition",
            name="kind",
            field=models.CharField(
                choices=[
                    ("newsletter", "Newsletter"),
                    ("confirmation", "asks who signed up whether it was them"),
                    ("record", "leads somebody to what is held about them"),
                    ("test", "shows its author a letter that is not published yet"),
                ],
                default="newsletter",
                max_length=20,
            ),
        ),
        migrations.AddConstraint(
            model_name="edition",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["newsletter", "confirmation", "record", "test"])),
                name="edition_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="edition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "control__in",
                        ["scheduled", "running", "paused", "stopped", "cancelled", "closed"],
                    )
                ),
                name="edition_control_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="edition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("control", "scheduled"), _negated=True),
                    models.Q(
                        ("kind", "newsletter"),
                        ("scheduled_for__isnull", False),
                        models.Q(("scheduled_local", ""), _negated=True),
                        models.Q(("scheduled_zone", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="a_scheduled_edition_says_when",
            ),
        ),
        migrations.AddConstraint(
            model_name="edition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("control", "scheduled"), _negated=True),
                    ("audience", 0),
                    _connector="OR",
                ),
                name="nobody_is_in_the_audience_before_its_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="edition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("approved_by__isnull", True),
                    models.Q(("approved_by", models.F("author")), _negated=True),
                    _connector="OR",
                ),
                name="nobody_approves_what_they_publish",
            ),
        ),
        migrations.RunSQL(FREEZE, THAW),
    ]
