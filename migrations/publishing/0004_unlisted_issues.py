"""An issue may be unlisted; what its first form asked for is kept beside what is so now."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("publishing", "0003_kept_forms_know_their_version")]

    operations = [
        migrations.AddField(
            model_name="issue",
            name="unlisted",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="issue",
            name="published_unlisted",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="keptform",
            name="unlisted",
            field=models.TextField(db_default=""),
        ),
    ]
