"""The welcome letter that is on, if any."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0009_welcome_letter")]

    operations = [
        migrations.AddField(
            "newsletter", "welcome_issue", models.UUIDField(editable=False, null=True)
        ),
    ]
