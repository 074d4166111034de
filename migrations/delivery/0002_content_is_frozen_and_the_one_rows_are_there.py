"""The promises that Django's models cannot say, the rows there is one of, and storage."""

from __future__ import annotations

from django.db import migrations

FROZEN = "issue_id, version, kind, stream, title, html_content, text_content, html_mail, text_mail, content_hash, archive_url"

FREEZE = f"""
CREATE FUNCTION the_content_of_an_edition_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the content of edition % never changes after publishing', OLD.id
        USING ERRCODE = 'integrity_constraint_violation',
              HINT = 'Publish a correction as a new version.';
END $$;
CREATE TRIGGER the_content_of_an_edition_never_changes
    BEFORE UPDATE OF {FROZEN} ON edition FOR EACH ROW
    WHEN (({", ".join(f"OLD.{name.strip()}" for name in FROZEN.split(","))})
          IS DISTINCT FROM ({", ".join(f"NEW.{name.strip()}" for name in FROZEN.split(","))}))
    EXECUTE FUNCTION the_content_of_an_edition_never_changes();
"""

THAW = """
DROP TRIGGER the_content_of_an_edition_never_changes ON edition;
DROP FUNCTION the_content_of_an_edition_never_changes();
"""

# A delivery is inserted once and updated once. Half-empty pages keep the second version of a row
# on the first one's page, so that no index is touched (docs/decisions/0005). Batches are few and
# change often: they are vacuumed by count, not by share.
STORE = """
ALTER TABLE delivery SET (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.01,
                          autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE batch SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
                       autovacuum_vacuum_threshold = 500, autovacuum_analyze_scale_factor = 0,
                       autovacuum_analyze_threshold = 500);
"""

UNSTORE = """
ALTER TABLE delivery RESET (fillfactor, autovacuum_vacuum_scale_factor,
                            autovacuum_vacuum_insert_scale_factor);
ALTER TABLE batch RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
                         autovacuum_analyze_scale_factor, autovacuum_analyze_threshold);
"""


def seed(apps, schema_editor):
    """The newsletter and the pace: one row each, there from the beginning."""
    apps.get_model("delivery", "Newsletter").objects.get_or_create(pk=1)
    apps.get_model("delivery", "Pace").objects.get_or_create(pk=1)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0001_editions_batches_and_deliveries")]

    operations = [
        migrations.RunSQL(FREEZE, THAW),
        migrations.RunSQL(STORE, UNSTORE),
        migrations.RunPython(seed, migrations.RunPython.noop),
    ]
