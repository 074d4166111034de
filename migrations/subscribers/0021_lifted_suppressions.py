"""Suppressions that the provider or an author lifts; never a complaint or an unsubscribe."""

from django.db import migrations, models

# A bounced reader returns to the state before the bounce: confirmed only if they were confirmed.
# The latest record of a bounce or its lifting must be the lifting.
SUBSCRIBER = """
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
    -- What is left leads to confirmed, or back from somewhere. Their own new consent answers a
    -- mail that they asked for; who had gone has asked for it since.
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
"""

# The provider lifts what it reported itself. An author lifts a bounce, also an imported one.
SUPPRESSION = """
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
        IF gravity_of_suppression(NEW.reason, NEW.origin)
           < gravity_of_suppression(OLD.reason, OLD.origin) THEN
            PERFORM refuse_as('a_suppression_is_never_made_lighter');
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.lifted_how = 'provider' AND OLD.origin = 'provider' AND OLD.reason IN ('bounce', 'manual')
       OR NEW.lifted_how = 'author' AND OLD.origin <> 'operator' AND OLD.reason = 'bounce' THEN
        RETURN NEW;
    END IF;
    -- Only an operator lifts the block of an operator.
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
"""

# A reader whose bounce is lifted is not new. The rest of the function does not change.
NEW_READERS = """
DO $$ BEGIN
    EXECUTE replace(pg_get_functiondef('count_changed_reader'::regproc),
                    'IF NEW.state = ''confirmed'' THEN',
                    'IF NEW.state = ''confirmed'' AND NOT (OLD.state = ''bounced''
        AND NEW.opt_in_id IS NOT DISTINCT FROM OLD.opt_in_id) THEN');
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0020_bounces_without_addresses")]

    operations = [
        migrations.AddField(
            "suppression", "reported_at", models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddField(
            "suppression",
            "lifted_how",
            models.CharField(
                blank=True,
                choices=[("provider", "Provider"), ("author", "Author")],
                db_default="",
                default="",
                max_length=8,
            ),
        ),
        migrations.RunSQL(SUBSCRIBER + SUPPRESSION + NEW_READERS),
    ]
