"""A worker says what it found wrong when it started, so that authors see it too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0010_what_the_provider_tells")]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="warning",
            field=models.TextField(
                blank=True,
                db_default="",
                help_text="What it found wrong when it started; authors are shown it while it "
                "runs.",
            ),
        ),
    ]
