"""Liftings in the log of consent, and the lifting of the bounces of many readers."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q

ACTS = [
    ("asked", "asked for the letter"),
    ("confirmed", "confirmed by the reader"),
    ("imported", "came with an import"),
    ("left", "left"),
    ("bounced", "mail to the address bounced"),
    ("complained", "marked a letter as spam"),
    ("blocked", "was blocked"),
    ("record asked", "requested their data"),
    ("stated", "was added; consent was given elsewhere"),
    ("chose topics", "chose topics"),
    ("left topics", "left topics"),
    ("lifted", "the suppression was lifted"),
]
ACTIONS = [
    ("tag", "Tag"),
    ("untag", "Untag"),
    ("unsubscribe", "Unsubscribe"),
    ("shut-out", "Block"),
    ("lift-bounce", "Lift Bounce"),
    ("erase", "Erase"),
]


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0021_lifted_suppressions")]

    operations = [
        migrations.AddField(
            "readerchange",
            "reason",
            models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.AlterField(
            "readerchange", "action", models.CharField(choices=ACTIONS, max_length=12)
        ),
        migrations.RemoveConstraint("readerchange", "a_change_of_tags_names_the_tag"),
        AddConstraintNotValid(
            "readerchange",
            models.CheckConstraint(
                condition=Q(action__in=["tag", "untag"], tag_id__isnull=False)
                | Q(
                    action__in=["unsubscribe", "shut-out", "lift-bounce", "erase"],
                    tag_id__isnull=True,
                ),
                name="a_change_of_tags_names_the_tag",
            ),
        ),
        AddConstraintNotValid(
            "readerchange",
            models.CheckConstraint(
                condition=~Q(action="lift-bounce") | ~Q(reason=""),
                name="a_lifting_of_bounces_says_why",
            ),
        ),
        migrations.AlterField(
            "consentrecord", "act", models.CharField(choices=ACTS, max_length=12)
        ),
        migrations.RemoveConstraint("consentrecord", "consent_act_is_known"),
        AddConstraintNotValid(
            "consentrecord",
            models.CheckConstraint(
                condition=Q(act__in=[act for act, _ in ACTS]), name="consent_act_is_known"
            ),
        ),
    ]
