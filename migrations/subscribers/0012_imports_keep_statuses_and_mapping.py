"""Keep an import's count of rows by status, and its columns mapped by hand."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0011_requests_for_a_record_wait_for_a_worker")]

    operations = [
        migrations.AddField(
            model_name="subscriberimport",
            name="statuses",
            field=models.JSONField(
                db_default={}, default=dict, help_text="How many rows say which status."
            ),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="mapping",
            field=models.JSONField(
                db_default=[], default=list, help_text="Which column is what, by hand: pairs."
            ),
        ),
    ]
