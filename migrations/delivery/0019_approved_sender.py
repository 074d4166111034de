"""The sender that a second person approved."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0018_index_of_liftings")]

    operations = [
        migrations.AddField(
            "edition", "approved_sender", models.TextField(blank=True, db_default="", default="")
        ),
    ]
