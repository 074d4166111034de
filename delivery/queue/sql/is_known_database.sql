-- Return whether a worker has already stored the identity of this database
-- (delivery/reconcile/database_identity.py).
CREATE OR REPLACE FUNCTION is_known_database_1() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT NOT EXISTS (SELECT FROM database_identity AS stored WHERE is_other_database_1(stored))
$$;
