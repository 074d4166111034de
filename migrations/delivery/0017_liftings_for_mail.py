"""The mail on request for which a suppression is lifted at the provider."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0016_alarms_of_addresses_and_crashes")]

    operations = [
        migrations.AddField(
            "suppressionchange",
            "copy",
            models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            "suppressionchange",
            "copy_waits",
            models.BooleanField(db_default=False, default=False),
        ),
    ]
