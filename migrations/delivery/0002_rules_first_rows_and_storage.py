"""The rules of editions that no column can hold, the rows there is one of, and storage settings."""

from django.db import migrations

FROZEN = (
    "issue_id",
    "version",
    "kind",
    "stream",
    "title",
    "html_content",
    "text_content",
    "html_mail",
    "text_mail",
    "content_hash",
    "archive_url",
)

CONTENT = f"""
CREATE FUNCTION the_content_of_an_edition_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the content of edition % never changes after publishing', OLD.id
        USING ERRCODE = 'integrity_constraint_violation',
              HINT = 'Publish a correction as a new version.';
END $$;
CREATE TRIGGER the_content_of_an_edition_never_changes
    BEFORE UPDATE OF {", ".join(FROZEN)} ON edition FOR EACH ROW
    WHEN (({", ".join(f"OLD.{name}" for name in FROZEN)})
          IS DISTINCT FROM ({", ".join(f"NEW.{name}" for name in FROZEN)}))
    EXECUTE FUNCTION the_content_of_an_edition_never_changes();
"""

# The function above refuses this too: a preheader is part of the content.
PREHEADER = """
CREATE TRIGGER the_preheader_of_an_edition_never_changes
    BEFORE UPDATE OF preheader ON edition FOR EACH ROW
    WHEN (OLD.preheader IS DISTINCT FROM NEW.preheader)
    EXECUTE FUNCTION the_content_of_an_edition_never_changes();
"""

CANCELLED = """
CREATE FUNCTION a_cancelled_edition_stays_cancelled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'edition % was cancelled and cannot become %', OLD.id, NEW.control
        USING ERRCODE = 'integrity_constraint_violation',
              CONSTRAINT = 'a_cancelled_edition_stays_cancelled',
              HINT = 'Publish its text again as the next version.';
END $$;
CREATE TRIGGER a_cancelled_edition_stays_cancelled
    BEFORE UPDATE OF control ON edition FOR EACH ROW
    WHEN (OLD.control = 'cancelled' AND NEW.control <> 'cancelled')
    EXECUTE FUNCTION a_cancelled_edition_stays_cancelled();
"""

DROPPED = """
CREATE FUNCTION deliveries_once_dropped_stay_dropped() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the copies of edition % were dropped at %, and stay so',
                    OLD.id, OLD.deliveries_dropped_at
        USING ERRCODE = 'integrity_constraint_violation',
              CONSTRAINT = 'deliveries_once_dropped_stay_dropped',
              HINT = 'Their rows are gone; nothing brings them back but a backup.';
END $$;
CREATE TRIGGER deliveries_once_dropped_stay_dropped
    BEFORE UPDATE OF deliveries_dropped_at ON edition FOR EACH ROW
    WHEN (OLD.deliveries_dropped_at IS DISTINCT FROM NEW.deliveries_dropped_at
          AND OLD.deliveries_dropped_at IS NOT NULL)
    EXECUTE FUNCTION deliveries_once_dropped_stay_dropped();
"""

# Nobody can record that copies are dropped while this lock is shared, so the readers who were found
# to be known stay known until the edition is stored.
REACHED = """
CREATE FUNCTION who_was_reached_is_known() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    earlier record;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(
        hashtextextended('homing: nobody is forgotten while copies are made', 0));
    SELECT version INTO earlier FROM edition
     WHERE issue_id = NEW.issue_id AND version < NEW.version AND unreconciled_since IS NOT NULL
     ORDER BY version LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'after the restore it is not known who was sent version %', earlier.version
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'who_was_reached_is_known',
                  HINT = 'Run ./homing reconcile first.';
    END IF;
    SELECT version, deliveries_dropped_at INTO earlier FROM edition
     WHERE issue_id = NEW.issue_id AND version < NEW.version AND deliveries_dropped_at IS NOT NULL
       AND EXISTS (SELECT FROM batch WHERE edition_id = edition.id AND sent > 0)
     ORDER BY version LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'who was sent version % is not kept any more: its copies were dropped at %',
                        earlier.version, earlier.deliveries_dropped_at
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'who_was_reached_is_known',
                  HINT = 'Publish it to everyone.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER who_was_reached_is_known
    BEFORE INSERT ON edition FOR EACH ROW
    WHEN (NEW.goes_to = 'reached')
    EXECUTE FUNCTION who_was_reached_is_known();
"""

# Otherwise a reader whose earlier copy still waits would get both.
UNREACHED = """
CREATE FUNCTION nothing_more_is_sent_of_earlier_versions() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    earlier integer;
BEGIN
    SELECT version INTO earlier FROM edition
     WHERE issue_id = NEW.issue_id AND version < NEW.version
       AND EXISTS (SELECT FROM batch
                   WHERE batch.edition_id = edition.id
                     AND (batch.waiting > 0
                          OR edition.control NOT IN ('cancelled', 'closed')
                             AND (batch.state <> 'done' OR batch.missed > 0)))
     ORDER BY version LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'copies of version % may still be sent', earlier
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'nothing_more_is_sent_of_earlier_versions',
                  HINT = 'Cancel or close it first.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER nothing_more_is_sent_of_earlier_versions
    BEFORE INSERT ON edition FOR EACH ROW
    WHEN (NEW.goes_to = 'unreached')
    EXECUTE FUNCTION nothing_more_is_sent_of_earlier_versions();
CREATE TRIGGER who_is_unreached_is_known
    BEFORE INSERT ON edition FOR EACH ROW
    WHEN (NEW.goes_to = 'unreached')
    EXECUTE FUNCTION who_was_reached_is_known();
"""

# Read where the server is asked, never from a table: a backup brings its tables along. The timeline
# is the one that is written now; pg_control_checkpoint() names the one of the last checkpoint,
# which lags after a promotion. Some managed servers refuse one of the functions: then the value is
# empty. Any other error is an error.
IDENTITY = """
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

# delivery/queue/batches/insert_and_split.py says what the sequence gives, and what is left above it for
# splits. A number is free again once all others were given. An edition's version has nine digits at
# most (delivery/rules/delivery_key.py).
SEQUENCES = """
CREATE SEQUENCE batch_on_request MINVALUE 0 MAXVALUE 983039 START 0 CYCLE;
CREATE SEQUENCE test_letter_number MAXVALUE 999999999;
"""

# A table of a few rows that change all the time: with free space on their page the rows stay there,
# and vacuum goes by count, since a share of a few rows is nothing.
FEW_ROWS = {
    "fillfactor": "50",
    "autovacuum_vacuum_scale_factor": "0",
    "autovacuum_vacuum_threshold": "200",
    "autovacuum_analyze_scale_factor": "0",
    "autovacuum_analyze_threshold": "500",
}
# A table that grows with every call or event and loses old rows: a fifth of it, the server's
# default, would be a million dead rows.
GROWS = {
    "autovacuum_vacuum_scale_factor": "0.02",
    "autovacuum_vacuum_insert_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.02",
}
STORAGE = {
    # A delivery is inserted once and updated once. Half-empty pages keep the second version of a
    # row on the first one's page, so that no index is touched (docs/decisions/0005).
    "delivery": {
        "fillfactor": "45",
        "autovacuum_vacuum_scale_factor": "0.01",
        "autovacuum_vacuum_insert_scale_factor": "0.05",
        "autovacuum_analyze_scale_factor": "0.02",
    },
    # Batches are few and change often.
    "batch": {
        **FEW_ROWS,
        "autovacuum_vacuum_threshold": "500",
        "autovacuum_vacuum_cost_delay": "0",
    },
    "attempt": GROWS,
    "evidence": GROWS,
    "provider_event": GROWS,
    "periodic_task": FEW_ROWS,
    "send_rate": FEW_ROWS,
    "metric_value": FEW_ROWS,
    "worker": FEW_ROWS,
}


def _set_storage(table: str) -> migrations.RunSQL:
    options = ", ".join(f"{name} = {value}" for name, value in STORAGE[table].items())
    return migrations.RunSQL(f"ALTER TABLE {table} SET ({options})")


def seed(apps, schema_editor):
    """Add the newsletter and the pace, of which there is one row each."""
    apps.get_model("delivery", "Newsletter").objects.get_or_create(pk=1)
    apps.get_model("delivery", "SendRate").objects.get_or_create(pk=1)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0001_editions_batches_and_deliveries")]

    operations = [
        *map(
            migrations.RunSQL,
            (
                CONTENT,
                PREHEADER,
                CANCELLED,
                DROPPED,
                REACHED,
                UNREACHED,
                IDENTITY,
                SEQUENCES,
            ),
        ),
        *map(_set_storage, STORAGE),
        migrations.RunPython(seed),
    ]
