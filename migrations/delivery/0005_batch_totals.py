"""Sums of finished batches, and a trigger that removes a changed batch from them."""

from django.db import migrations, models

COLUMNS = ("size", "sent", "suppressed", "withdrawn", "failed", "bounced", "complained")

TRIGGER = f"""
CREATE FUNCTION a_changed_batch_is_not_rolled_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO batch_total (edition_id, {", ".join(COLUMNS)})
    VALUES (OLD.edition_id, {", ".join(f"-OLD.{name}" for name in COLUMNS)});
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    NEW.rolled_up := false;
    RETURN NEW;
END $$;
CREATE TRIGGER a_changed_batch_is_not_rolled_up
    BEFORE UPDATE OR DELETE ON batch FOR EACH ROW
    WHEN (OLD.rolled_up) EXECUTE FUNCTION a_changed_batch_is_not_rolled_up();
"""  # noqa: S608 -- constants


class Migration(migrations.Migration):
    dependencies = [("delivery", "0004_batch_functions")]

    operations = [
        migrations.AddField(
            model_name="batch",
            name="rolled_up",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name="BatchTotal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                *((name, models.IntegerField()) for name in COLUMNS),
                (
                    "edition",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=models.DO_NOTHING,
                        related_name="+",
                        to="delivery.edition",
                    ),
                ),
            ],
            options={"db_table": "batch_total", "default_permissions": ()},
        ),
        migrations.RunSQL(TRIGGER),
    ]
