"""Find out whether this role may write, without writing."""

from django.apps import apps
from django.db.backends.utils import CursorWrapper

from delivery.rules.reason import Reason, ReasonCode

# In SQL: whether this session cannot write.
IS_READ_ONLY = "(pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool)"
_OTHERS = ("django", "axes")
READ_ONLY = Reason.of(ReasonCode.READ_ONLY, sqlstate="25006")


def load_refusals(cursor: CursorWrapper) -> list[Reason]:
    """Return why the database would refuse writes of this session.

    Only tables of our own packages count: another role may apply migrations, and an operator may
    keep Homing from deleting entries of Django's log.
    """
    ours = [model for model in apps.get_models() if not model.__module__.startswith(_OTHERS)]
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
        [[model._meta.db_table for model in ours]],
    )
    is_read_only, lacks_permission = cursor.fetchone()
    found = []
    if is_read_only:
        found.append(READ_ONLY)
    if lacks_permission:
        found.append(Reason.of(ReasonCode.NO_PERMISSION, sqlstate="42501"))
    return found
