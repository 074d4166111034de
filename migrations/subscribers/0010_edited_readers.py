"""When a reader was changed after they were added, and which readers an undo may delete."""

from django.db import migrations, models

# Nothing but a change of these columns moves the time, and nothing clears it.
EDITED = ("email", "name", "fields", "tags", "left_topics", "state", "edited_at")
TRIGGER = f"""
CREATE FUNCTION subscriber_is_edited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.edited_at := clock_timestamp();
    RETURN NEW;
END $$;
CREATE TRIGGER subscriber_is_edited BEFORE UPDATE ON subscriber FOR EACH ROW
    WHEN (({", ".join(f"OLD.{name}" for name in EDITED)})
          IS DISTINCT FROM ({", ".join(f"NEW.{name}" for name in EDITED)}))
    EXECUTE FUNCTION subscriber_is_edited();
"""
# An undo removes readers of its import who never opted in and were never changed.
STAYS = """
CREATE OR REPLACE FUNCTION subscriber_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('homing.undoing', true) = OLD.subscriber_import_id::text
       AND OLD.opt_in_id IS NULL AND OLD.edited_at IS NULL THEN
        RETURN OLD;
    END IF;
    IF OLD.state <> 'pending'
       AND current_setting('homing.erasing', true) IS DISTINCT FROM OLD.id::text THEN
        PERFORM refuse_as('nobody_is_deleted_but_by_erasure');
    END IF;
    RETURN OLD;
END $$;
"""
BEFORE = """
DROP TRIGGER subscriber_is_edited ON subscriber;
DROP FUNCTION subscriber_is_edited;
CREATE OR REPLACE FUNCTION subscriber_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'pending'
       AND current_setting('homing.erasing', true) IS DISTINCT FROM OLD.id::text THEN
        PERFORM refuse_as('nobody_is_deleted_but_by_erasure');
    END IF;
    RETURN OLD;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0009_fields_of_a_sign_up")]

    operations = [
        migrations.AddField(
            model_name="subscriber",
            name="edited_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.RunSQL(TRIGGER + STAYS, BEFORE),
    ]
