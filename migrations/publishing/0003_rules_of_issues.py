"""Add rules of issues, drafts and receipts that need functions or triggers."""

from django.db import migrations

from migrations.sql_file import SqlFile


class Migration(migrations.Migration):
    dependencies = [("publishing", "0002_drafts_and_tasks")]

    operations = [
        SqlFile("publishing/receipts/sql/a_receipt_never_changes.sql"),
        SqlFile("publishing/editions/sql/the_address_is_fixed.sql"),
        SqlFile("publishing/editions/sql/the_address_of_an_issue_stays.sql"),
        SqlFile("publishing/drafts/sql/the_key_of_a_draft_makes_one_edition.sql"),
    ]
