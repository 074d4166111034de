-- Whatever the code does, a reader who left can return only by a new opt-in (docs/decisions/0013).
--
-- If the bounce of a reader is lifted, the reader gets the state before the bounce: confirmed only
-- if they were confirmed. For this change, the latest record of a bounce or of its lifting must be
-- that of the lifting.
CREATE OR REPLACE FUNCTION subscriber_ratchet() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    has_gone constant boolean := NEW.state IN ('bounced', 'unsubscribed', 'complained');
    opted_in boolean;
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.gone_at := CASE WHEN has_gone THEN coalesce(NEW.gone_at, clock_timestamp()) END;
        RETURN NEW;
    END IF;
    IF NEW.id <> OLD.id OR NEW.email <> OLD.email THEN
        PERFORM refuse_as('an_address_never_changes');
    END IF;
    IF gravity_of_state_1(NEW.state) > gravity_of_state_1(OLD.state) AND has_gone THEN
        NEW.gone_at := clock_timestamp();
        RETURN NEW;
    END IF;
    IF NEW.state = OLD.state THEN
        IF OLD.unsubscribed_at IS NOT NULL AND NEW.unsubscribed_at IS NULL THEN
            PERFORM refuse_as('only_an_opt_in_brings_back');
        END IF;
        NEW.gone_at := OLD.gone_at;
        RETURN NEW;
    END IF;
    IF OLD.state = 'bounced' AND NEW.opt_in_id IS NOT DISTINCT FROM OLD.opt_in_id
       AND NEW.confirmed_at IS NOT DISTINCT FROM OLD.confirmed_at
       AND NEW.unsubscribed_at IS NOT DISTINCT FROM OLD.unsubscribed_at
       AND NEW.state = (CASE WHEN OLD.confirmed_at IS NULL THEN 'pending' ELSE 'confirmed' END)
       AND 'lifted' = (SELECT act FROM consent_record
                        WHERE subscriber_id = NEW.id AND act IN ('bounced', 'lifted')
                        ORDER BY id DESC LIMIT 1)
    THEN
        NEW.gone_at := NULL;
        RETURN NEW;
    END IF;
    -- Only a reader's own new consent can set the state `confirmed`. This consent answers a mail
    -- that the reader asked for. A reader who had left must have asked for the mail after leaving.
    SELECT EXISTS (
        SELECT FROM consent_record AS consent JOIN consent_record AS asked
                 ON asked.subscriber_id = consent.subscriber_id
                AND asked.request = consent.request AND asked.id < consent.id
         WHERE consent.id = NEW.opt_in_id AND consent.subscriber_id = NEW.id
           AND consent.act = 'confirmed' AND consent.id IS DISTINCT FROM OLD.opt_in_id
           AND CASE WHEN OLD.gone_at IS NULL THEN asked.act IN ('asked', 'imported')
                    ELSE asked.act = 'asked' AND asked.how IN ('form', 'embedded form', 'archive')
                         AND asked.at >= OLD.gone_at END
    ) INTO opted_in;
    IF NEW.state <> 'confirmed' OR NOT opted_in THEN
        PERFORM refuse_as('only_an_opt_in_brings_back');
    END IF;
    NEW.gone_at := NULL;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER subscriber_ratchet BEFORE INSERT OR UPDATE ON subscriber
    FOR EACH ROW EXECUTE FUNCTION subscriber_ratchet();
