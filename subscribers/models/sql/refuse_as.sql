-- Refuse a change with an error that names the broken rule.
CREATE OR REPLACE FUNCTION refuse_as(rule text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE integrity_constraint_violation USING
        MESSAGE = 'refused: ' || replace(rule, '_', ' '), CONSTRAINT = rule;
END $$;
