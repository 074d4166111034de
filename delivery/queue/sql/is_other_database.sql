-- Return whether the stored identity is that of another database, for example because this database
-- was restored. A value that the server does not report is empty and is not compared.
CREATE OR REPLACE FUNCTION is_other_database_1(stored database_identity) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT stored.database <> this.database
           OR (stored.system_identifier <> this.system_identifier
               AND stored.system_identifier <> '' AND this.system_identifier <> '')
           OR (stored.timeline <> this.timeline
               AND stored.timeline <> '' AND this.timeline <> '')
    FROM this_database_1() AS this
$$;
