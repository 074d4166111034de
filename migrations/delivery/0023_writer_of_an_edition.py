"""Who wrote a letter, so that its approver may publish it if somebody else wrote it."""

import django.db.models.deletion
from django.conf import settings
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("delivery", "0022_approver_who_publishes"),
    ]

    operations = [
        migrations.AddField(
            "edition",
            "written_by",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RemoveConstraint("edition", "nobody_approves_what_they_publish"),
        # Rows that exist keep to the old constraint, which was stricter.
        AddConstraintNotValid(
            "edition",
            models.CheckConstraint(
                condition=Q(approved_by__isnull=True)
                | ~Q(approved_by=F("author"))
                | Q(written_by__isnull=False) & ~Q(written_by=F("approved_by")),
                name="two_people_stand_behind_an_approved_edition",
            ),
        ),
    ]
