"""Statements about lists, columns that are tags, and what an import made."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0022_lifting_of_bounces")]

    operations = [
        migrations.AddField(
            model_name="subscriberimport",
            name="list_is_confirmed",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="made",
            field=models.JSONField(db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="tag_values",
            field=models.JSONField(db_default={}, default=dict),
        ),
        migrations.AddField("subscriberimport", "unmade", models.JSONField(null=True)),
        migrations.AddField("subscriberimport", "upload", models.UUIDField(null=True)),
        AddConstraintNotValid(
            "subscriberimport",
            models.CheckConstraint(
                condition=Q(list_is_confirmed=False) | Q(confirmed=True),
                name="a_confirmed_list_has_a_statement",
            ),
        ),
    ]
