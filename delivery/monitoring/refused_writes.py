"""Whether the database lets this role write, read without writing anything."""

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.rules.reason import Reason, ReasonCode

# In SQL: whether this session cannot write.
IS_READ_ONLY = "(pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool)"
READ_ONLY = Reason.of(ReasonCode.READ_ONLY, sqlstate="25006")


def load_refusals(cursor: CursorWrapper) -> list[Reason]:
    """Return why the database would refuse writes of this session.

    Only tables of our models count, because another role may apply migrations."""
    cursor.execute(
        f"""
        SELECT {IS_READ_ONLY},
               coalesce(bool_or(NOT (
                   has_table_privilege(id, 'SELECT') AND has_table_privilege(id, 'INSERT')
                   AND has_table_privilege(id, 'UPDATE') AND has_table_privilege(id, 'DELETE'))),
                   false)
        FROM (SELECT to_regclass(quote_ident(name))::oid AS id FROM unnest(%s::text[]) AS name)
             AS known
        """,  # noqa: S608 -- a constant
        [connection.introspection.django_table_names()],
    )
    is_read_only, lacks_permission = cursor.fetchone()
    found = []
    if is_read_only:
        found.append(READ_ONLY)
    if lacks_permission:
        found.append(Reason.of(ReasonCode.NO_PERMISSION, sqlstate="42501"))
    return found
