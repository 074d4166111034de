"""A function by which a database tells which one it is; see delivery/queue/identity.py."""

from __future__ import annotations

from django.db import migrations

# Read where the server is asked, never from a table: a backup brings its tables along. The timeline
# is the one that is written now; pg_control_checkpoint() names the one of the last checkpoint,
# which lags after a promotion. Some managed servers refuse one of the functions: what cannot be
# told is empty. Any other error is an error.
TELLS_WHICH_ONE_IT_IS = """
CREATE FUNCTION this_database(
    OUT system_identifier text, OUT timeline text, OUT database bigint
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    database := (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database());
    BEGIN
        system_identifier :=
            (SELECT facts.system_identifier FROM pg_catalog.pg_control_system() AS facts);
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_function THEN
        system_identifier := '';
    END;
    BEGIN
        timeline :=
            left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8);
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_function
                   OR object_not_in_prerequisite_state THEN
        timeline := '';
    END;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0005_what_was_too_fast")]

    operations = [
        migrations.RunSQL(TELLS_WHICH_ONE_IT_IS, "DROP FUNCTION this_database()"),
    ]
