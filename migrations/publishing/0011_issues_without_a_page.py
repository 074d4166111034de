"""Issues that are not in the archive."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("publishing", "0010_address_of_a_draft")]

    operations = [
        migrations.AddField(
            "issue", "has_page", models.BooleanField(db_default=True, default=True)
        ),
        migrations.AddField(
            "issue", "published_with_page", models.BooleanField(db_default=True, default=True)
        ),
    ]
