"""Create the queue's functions and triggers; add storage settings and first rows."""

from django.db import migrations

from migrations.sql_file import SqlFile


def add_first_rows(apps, schema_editor):
    """Add the only row of the newsletter, and the only row of the send rate."""
    apps.get_model("delivery", "Newsletter").objects.get_or_create(pk=1)
    apps.get_model("delivery", "SendRate").objects.get_or_create(pk=1)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0001_editions_and_deliveries")]

    operations = [
        SqlFile("delivery/models/sql/storage_parameters_of_tables.sql"),
        SqlFile("delivery/models/sql/the_content_of_an_edition_never_changes.sql"),
        SqlFile("delivery/models/sql/a_cancelled_edition_stays_cancelled.sql"),
        SqlFile("delivery/models/sql/deliveries_once_dropped_stay_dropped.sql"),
        SqlFile("delivery/models/sql/who_was_reached_is_known.sql"),
        SqlFile("delivery/models/sql/nothing_more_is_sent_of_earlier_versions.sql"),
        SqlFile("delivery/reconcile/sql/this_database.sql"),
        SqlFile("delivery/queue/sql/a_changed_batch_is_not_rolled_up.sql"),
        SqlFile("delivery/queue/sql/batch_on_request.sql"),
        SqlFile("delivery/queue/sql/test_letter_number.sql"),
        SqlFile("delivery/queue/sql/batch_is_open.sql"),
        SqlFile("delivery/queue/sql/is_other_database.sql"),
        SqlFile("delivery/queue/sql/is_known_database.sql"),
        SqlFile("delivery/queue/sql/claim_batch.sql"),
        SqlFile("delivery/queue/sql/record_attempt.sql"),
        SqlFile("delivery/queue/sql/start_batch.sql"),
        SqlFile("delivery/queue/sql/write_sent.sql"),
        SqlFile("delivery/queue/sql/unapplied_evidence.sql"),
        SqlFile("delivery/queue/sql/settle_batch.sql"),
        migrations.RunPython(add_first_rows, migrations.RunPython.noop),
    ]
