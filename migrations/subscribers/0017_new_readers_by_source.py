"""The readers confirmed in each month by source, kept by the triggers that count readers."""

from django.db import migrations, models

# The form that a reader used last is known from the log of consent.
FORM = """CASE (SELECT how FROM consent_record
               WHERE subscriber_id = {reader}.id AND act = 'asked' ORDER BY id DESC LIMIT 1)
          WHEN 'form' THEN 'form' WHEN 'embedded form' THEN 'embedded form'
          WHEN 'archive' THEN 'archive' WHEN 'api' THEN 'api' WHEN 'operator' THEN 'desk' ELSE {reader}.source END"""

NOW = "date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date"

# An undone import brought no readers.
COUNT = f"""
CREATE OR REPLACE FUNCTION count_new_readers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reader_total (state, readers) SELECT state, count(*) FROM added GROUP BY state;
    INSERT INTO new_readers (month, source, readers)
    SELECT {NOW}, source, count(*) FROM added WHERE state = 'confirmed' GROUP BY source;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION count_deleted_readers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reader_total (state, readers) SELECT state, -count(*) FROM gone GROUP BY state;
    INSERT INTO new_readers (month, source, readers)
    SELECT date_trunc('month', created_at AT TIME ZONE 'UTC')::date, source, -count(*) FROM gone
    WHERE state = 'confirmed' AND source = 'import' AND opt_in_id IS NULL GROUP BY 1, 2;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION count_changed_reader() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reader_total (state, readers) VALUES (OLD.state, -1), (NEW.state, 1);
    IF NEW.state = 'confirmed' THEN
        INSERT INTO new_readers (month, source, readers)
        VALUES ({NOW}, {FORM.format(reader="NEW")}, 1);
    END IF;
    RETURN NULL;
END $$;
"""  # noqa: S608 -- constants

FILL = f"""
INSERT INTO new_readers (month, source, readers)
SELECT date_trunc('month', (CASE WHEN opt_in_id IS NULL THEN created_at ELSE confirmed_at END)
                           AT TIME ZONE 'UTC')::date,
       CASE WHEN source = 'sign-up' THEN {FORM.format(reader="subscriber")} ELSE source END,
       count(*)
FROM subscriber WHERE confirmed_at IS NOT NULL GROUP BY 1, 2;
"""  # noqa: S608 -- constants


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0016_unsubscribed_after_an_edition")]

    operations = [
        migrations.CreateModel(
            name="NewReaders",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("month", models.DateField()),
                ("source", models.CharField(max_length=13)),
                ("readers", models.IntegerField()),
            ],
            options={"db_table": "new_readers", "default_permissions": ()},
        ),
        migrations.RunSQL(COUNT + FILL),
    ]
