"""The confirmed readers at each edition, and corrections that readers see no note about."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0020_problems_of_workers")]

    operations = [
        migrations.AddField("edition", "confirmed_readers", models.PositiveIntegerField(null=True)),
        migrations.AddField(
            "edition", "without_note", models.BooleanField(db_default=False, default=False)
        ),
    ]
