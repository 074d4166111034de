"""Turn JIT compilation off for this database, after its migrations."""

from django.db.backends.base.base import BaseDatabaseWrapper

_JIT_OF_DATABASE = """
    SELECT datname, pg_has_role(datdba, 'USAGE'), EXISTS (
        SELECT FROM pg_db_role_setting, unnest(setconfig) AS setting
        WHERE setdatabase IN (0, pg_database.oid) AND setting LIKE 'jit=%'
          AND setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = current_user)))
    FROM pg_database WHERE datname = current_database()
"""


def turn_jit_off(connection: BaseDatabaseWrapper) -> None:
    """Turn JIT compilation off for new connections to this database.

    Homing's statements are short, and compiling a statement takes longer than running it. The
    setting belongs to the database and not to a session, so it also works behind a pooler. A dump
    does not contain the setting. If our role does not own the database, only this role's
    connections to it get the setting. A value that an operator chose for the database or the role
    stays.
    """
    with connection.cursor() as cursor:
        cursor.execute(_JIT_OF_DATABASE)
        database, owns_database, is_chosen = cursor.fetchone()
        if not is_chosen:
            name = connection.ops.quote_name(database)
            whose = f"DATABASE {name}" if owns_database else f"ROLE CURRENT_USER IN DATABASE {name}"
            cursor.execute(f"ALTER {whose} SET jit = off")
