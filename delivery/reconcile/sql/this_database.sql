-- Identify this database.
--
-- Nothing is read from a table, because a backup contains the tables. The timeline is read from the
-- current WAL, because pg_control_checkpoint() names the timeline of the last checkpoint, which may
-- be older after a promotion. If a managed server refuses one of the functions, that function's
-- value is empty.
CREATE OR REPLACE FUNCTION this_database_1(
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
