"""
Who left stays away until they come back themselves: held by the database, whatever the code does.

The triggers refuse with the condition `integrity_constraint_violation` and the name of the rule.
"""

from django.db import migrations

REFUSE = """
    CREATE FUNCTION refuse_as(rule text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        RAISE integrity_constraint_violation USING
            MESSAGE = 'refused: ' || replace(rule, '_', ' '), CONSTRAINT = rule;
    END $$;
"""

# How grave it is. Of two things that befall a reader the graver stays, in whatever order.
GRAVITY = """
    CREATE FUNCTION gravity_of_state(state text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
        SELECT array_position(
            ARRAY['pending', 'confirmed', 'bounced', 'unsubscribed', 'complained'], state)
    $$;
    CREATE FUNCTION gravity_of_suppression(reason text, origin text) RETURNS integer
    LANGUAGE sql IMMUTABLE AS $$
        SELECT array_position(ARRAY['bounce', 'manual', 'unsubscribe', 'complaint'], reason)
               + CASE origin WHEN 'operator' THEN 10 ELSE 0 END
    $$;
"""

SUBSCRIBER = """
    CREATE FUNCTION subscriber_ratchet() RETURNS trigger LANGUAGE plpgsql AS $$
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
        IF gravity_of_state(NEW.state) > gravity_of_state(OLD.state) AND has_gone THEN
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
        -- What is left leads to confirmed, or back from somewhere. Their own new consent answers a
        -- mail that they asked for; who had gone has asked for it since.
        SELECT EXISTS (
            SELECT FROM consent_record AS consent JOIN consent_record AS asked
                     ON asked.subscriber_id = consent.subscriber_id
                    AND asked.request = consent.request AND asked.id < consent.id
             WHERE consent.id = NEW.opt_in_id AND consent.subscriber_id = NEW.id
               AND consent.act = 'confirmed' AND consent.id IS DISTINCT FROM OLD.opt_in_id
               AND CASE WHEN OLD.gone_at IS NULL THEN asked.act IN ('asked', 'imported')
                        ELSE asked.act = 'asked' AND asked.how IN ('form', 'embedded form')
                             AND asked.at >= OLD.gone_at END
        ) INTO opted_in;
        IF NEW.state <> 'confirmed' OR NOT opted_in THEN
            PERFORM refuse_as('only_an_opt_in_brings_back');
        END IF;
        NEW.gone_at := NULL;
        RETURN NEW;
    END $$;
    CREATE TRIGGER subscriber_ratchet BEFORE INSERT OR UPDATE ON subscriber
        FOR EACH ROW EXECUTE FUNCTION subscriber_ratchet();

    CREATE FUNCTION subscriber_stays() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        -- Whoever never confirmed may be forgotten: a sign-up that ran out, perhaps not their own.
        IF OLD.state <> 'pending'
           AND current_setting('homing.erasing', true) IS DISTINCT FROM OLD.id::text THEN
            PERFORM refuse_as('nobody_is_deleted_but_by_erasure');
        END IF;
        RETURN OLD;
    END $$;
    CREATE TRIGGER subscriber_stays BEFORE DELETE ON subscriber
        FOR EACH ROW EXECUTE FUNCTION subscriber_stays();
"""

CONSENT = """
    CREATE FUNCTION consent_is_appended() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            IF NEW.act IN ('asked', 'confirmed', 'record asked') THEN
                -- These happen here and now, whatever the code would rather have.
                NEW.at := clock_timestamp();
            END IF;
            RETURN NEW;
        END IF;
        IF TG_OP = 'UPDATE' OR EXISTS (SELECT FROM subscriber WHERE id = OLD.subscriber_id) THEN
            PERFORM refuse_as('a_consent_record_stays_as_it_is');
        END IF;
        RETURN OLD;
    END $$;
    CREATE TRIGGER consent_is_appended BEFORE INSERT OR UPDATE OR DELETE ON consent_record
        FOR EACH ROW EXECUTE FUNCTION consent_is_appended();

    CREATE FUNCTION stays_as_it_is() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM refuse_as(TG_ARGV[0]);
        RETURN NULL;
    END $$;
    CREATE TRIGGER wording_stays BEFORE UPDATE OR DELETE ON consent_wording
        FOR EACH ROW EXECUTE FUNCTION stays_as_it_is('a_wording_stays_as_it_is');
    CREATE TRIGGER erasure_stays BEFORE UPDATE OR DELETE ON erasure
        FOR EACH ROW EXECUTE FUNCTION stays_as_it_is('an_erasure_stays');
"""

SUPPRESSION = """
    CREATE FUNCTION suppression_ratchet() RETURNS trigger LANGUAGE plpgsql AS $$
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
        IF OLD.lifted_at IS NOT NULL THEN
            RETURN NEW;
        END IF;
        IF NEW.lifted_at IS NULL THEN
            IF gravity_of_suppression(NEW.reason, NEW.origin)
               < gravity_of_suppression(OLD.reason, OLD.origin) THEN
                PERFORM refuse_as('a_suppression_is_never_made_lighter');
            END IF;
            RETURN NEW;
        END IF;
        -- What an operator shut out an operator may let in again, and nobody else.
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
    CREATE TRIGGER suppression_ratchet BEFORE UPDATE OR DELETE ON suppression
        FOR EACH ROW EXECUTE FUNCTION suppression_ratchet();
"""

# The one way in which somebody's row goes: what is left of them is the keyed hash.
ERASE = """
    CREATE FUNCTION erase_subscriber(whom bigint, hashed bytea) RETURNS boolean
    LANGUAGE plpgsql AS $$
    DECLARE
        key text;
    BEGIN
        SELECT email_key INTO key FROM subscriber WHERE id = whom FOR UPDATE;
        IF key IS NULL THEN
            RETURN false;
        END IF;
        INSERT INTO erasure (address_hash) VALUES (hashed) ON CONFLICT DO NOTHING;
        PERFORM set_config('homing.erasing', whom::text, true);
        DELETE FROM suppression WHERE address_key = key;
        DELETE FROM bounce WHERE subscriber_id = whom;
        DELETE FROM subscriber WHERE id = whom;
        DELETE FROM consent_record WHERE subscriber_id = whom;
        PERFORM set_config('homing.erasing', '', true);
        RETURN true;
    END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0001_readers_consent_and_imports")]

    operations = [
        migrations.RunSQL(REFUSE + GRAVITY + SUBSCRIBER + CONSENT + SUPPRESSION + ERASE),
    ]
