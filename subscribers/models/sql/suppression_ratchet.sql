-- Refuse to lift a suppression, except as follows. A complaint or an unsubscribe is lifted only by
-- a new opt-in.
--
-- The provider may lift a suppression that it reported itself. An author may lift a bounce, even if
-- the provider or an import reported it.
CREATE OR REPLACE FUNCTION suppression_ratchet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF coalesce(current_setting('homing.erasing', true), '') = '' THEN
            PERFORM refuse_as('a_suppression_is_never_deleted');
        END IF;
        RETURN OLD;
    END IF;
    IF NEW.address_key <> OLD.address_key THEN
        PERFORM refuse_as('a_suppression_keeps_its_address');
    END IF;
    IF NEW.lifted_at IS NULL THEN
        NEW.lifted_how := '';
    END IF;
    IF OLD.lifted_at IS NOT NULL THEN
        RETURN NEW;
    END IF;
    IF NEW.lifted_at IS NULL THEN
        IF gravity_of_suppression_1(NEW.reason, NEW.origin)
           < gravity_of_suppression_1(OLD.reason, OLD.origin) THEN
            PERFORM refuse_as('a_suppression_is_never_made_lighter');
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.lifted_how = 'provider' AND OLD.origin = 'provider'
           AND OLD.reason IN ('bounce', 'manual')
       OR NEW.lifted_how = 'author' AND OLD.origin <> 'operator' AND OLD.reason = 'bounce' THEN
        RETURN NEW;
    END IF;
    -- Only an operator can lift an operator's block.
    IF OLD.origin = 'operator' THEN
        IF NEW.lifted_by_id IS NOT NULL THEN
            PERFORM refuse_as('an_opt_in_does_not_lift_what_an_operator_shut_out');
        END IF;
    ELSIF NOT EXISTS (
        SELECT FROM consent_record AS consent
               JOIN subscriber ON subscriber.id = consent.subscriber_id
         WHERE consent.id = NEW.lifted_by_id AND consent.act = 'confirmed'
           AND consent.at >= OLD.at AND subscriber.email_key = OLD.address_key
    ) THEN
        PERFORM refuse_as('only_an_opt_in_lifts_a_suppression');
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER suppression_ratchet BEFORE UPDATE OR DELETE ON suppression
    FOR EACH ROW EXECUTE FUNCTION suppression_ratchet();
