"""The current problems of each worker."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0019_approved_sender")]

    operations = [
        migrations.AddField(
            "workerheartbeat", "problems", models.JSONField(db_default=[], default=list)
        ),
    ]
