"""Issues that another product sent."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("publishing", "0005_tags_of_a_draft")]

    operations = [
        migrations.AddField(
            model_name="issue",
            name="moved_from",
            field=models.CharField(blank=True, db_default="", default="", max_length=12),
        ),
    ]
