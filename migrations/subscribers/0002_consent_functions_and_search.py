"""Add the rules of consent, counts of readers, and the index to search readers."""

import logging

from django.db import DatabaseError, migrations, transaction

from migrations.sql_file import SqlFile

logger = logging.getLogger(__name__)


class SearchIndex(SqlFile):
    """Create the index for searches, unless PostgreSQL refuses the needed extension."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        connection = schema_editor.connection
        try:
            with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
                cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        except DatabaseError as error:
            logger.warning(
                "the extension pg_trgm could not be created (%s), so searching a long list of "
                "readers takes seconds; docs/decisions/0037-totals-and-search.md says what to do",
                type(error.__cause__).__name__,
            )
            return
        super().database_forwards(app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0001_readers_and_consent")]

    operations = [
        SqlFile("subscribers/models/sql/refuse_as.sql"),
        SqlFile("subscribers/models/sql/gravity_of_state.sql"),
        SqlFile("subscribers/models/sql/gravity_of_suppression.sql"),
        SqlFile("subscribers/models/sql/subscriber_ratchet.sql"),
        SqlFile("subscribers/models/sql/subscriber_is_deleted_only_by_erasure.sql"),
        SqlFile("subscribers/models/sql/subscriber_is_edited.sql"),
        SqlFile("subscribers/models/sql/consent_is_appended.sql"),
        SqlFile("subscribers/models/sql/wordings_and_erasures_never_change.sql"),
        SqlFile("subscribers/models/sql/suppression_ratchet.sql"),
        SqlFile("subscribers/models/sql/count_new_readers.sql"),
        SqlFile("subscribers/models/sql/count_deleted_readers.sql"),
        SqlFile("subscribers/models/sql/count_changed_reader.sql"),
        SqlFile("subscribers/models/sql/count_no_readers.sql"),
        SqlFile("subscribers/fields/sql/reader_fields_are_sound.sql"),
        SqlFile("subscribers/fields/sql/a_left_topic_is_no_tag.sql"),
        SqlFile("subscribers/fields/sql/tags_with.sql"),
        SqlFile("subscribers/fields/sql/tags_without.sql"),
        SqlFile("subscribers/data_requests/sql/erase_subscriber.sql"),
        SqlFile("subscribers/suppression/sql/readers_who_get_no_copy.sql"),
        SearchIndex("subscribers/desk/sql/subscriber_search.sql"),
    ]
