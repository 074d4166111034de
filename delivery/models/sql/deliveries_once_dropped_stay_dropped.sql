CREATE OR REPLACE FUNCTION deliveries_once_dropped_stay_dropped()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the copies of edition % were dropped at %, and stay so',
                    OLD.id, OLD.deliveries_dropped_at
        USING ERRCODE = 'integrity_constraint_violation',
              CONSTRAINT = 'deliveries_once_dropped_stay_dropped',
              HINT = 'Their rows are gone; nothing brings them back but a backup.';
END $$;

CREATE OR REPLACE TRIGGER deliveries_once_dropped_stay_dropped
    BEFORE UPDATE OF deliveries_dropped_at ON edition FOR EACH ROW
    WHEN (OLD.deliveries_dropped_at IS DISTINCT FROM NEW.deliveries_dropped_at
          AND OLD.deliveries_dropped_at IS NOT NULL)
    EXECUTE FUNCTION deliveries_once_dropped_stay_dropped();
