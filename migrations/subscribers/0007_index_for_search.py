"""The index for searching any part of a reader's address or fields."""

import logging

from django.db import DatabaseError, migrations

logger = logging.getLogger(__name__)

# Each reader's text as `subscribers/desk/reader_list.py` searches it.
SEARCHED = """lower((email || chr(10) || name) COLLATE "default")"""


def add_search_index(apps, schema_editor):
    """Create the index, unless the extension that it needs is refused."""
    try:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except DatabaseError as error:
        logger.warning(
            "the extension pg_trgm could not be created (%s), so searching a long list of readers "
            "takes seconds; docs/decisions/0037-totals-and-search.md says what to do",
            type(error.__cause__).__name__,
        )
        return
    with schema_editor.connection.cursor() as cursor:
        # An interrupted run leaves an invalid index.
        cursor.execute("DROP INDEX CONCURRENTLY IF EXISTS subscriber_search")
        cursor.execute(
            f"CREATE INDEX CONCURRENTLY subscriber_search ON subscriber "
            # A search reads the whole list of pending entries, so the list is short.
            f"USING gin ({SEARCHED} gin_trgm_ops) WITH (gin_pending_list_limit = 512)"
        )
        cursor.execute("SELECT EXISTS (SELECT FROM subscriber)")
        if cursor.fetchone() == (True,):
            # With statistics PostgreSQL knows common texts, for which it needs no index.
            cursor.execute("ANALYZE subscriber")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("subscribers", "0006_index_of_states")]

    operations = [
        migrations.RunPython(add_search_index, migrations.RunPython.noop),
    ]
