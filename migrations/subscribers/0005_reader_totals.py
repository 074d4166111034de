"""The number of readers in each state, kept by triggers in the transaction of each change."""

from django.db import migrations, models

TRIGGERS = """
CREATE FUNCTION count_new_readers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reader_total (state, readers) SELECT state, count(*) FROM added GROUP BY state;
    RETURN NULL;
END $$;
CREATE TRIGGER count_new_readers AFTER INSERT ON subscriber
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_new_readers();

CREATE FUNCTION count_deleted_readers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reader_total (state, readers) SELECT state, -count(*) FROM gone GROUP BY state;
    RETURN NULL;
END $$;
CREATE TRIGGER count_deleted_readers AFTER DELETE ON subscriber
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_readers();

CREATE FUNCTION count_changed_reader() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reader_total (state, readers) VALUES (OLD.state, -1), (NEW.state, 1);
    RETURN NULL;
END $$;
CREATE TRIGGER count_changed_reader AFTER UPDATE OF state ON subscriber FOR EACH ROW
    WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION count_changed_reader();

CREATE FUNCTION count_no_readers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM reader_total;
    RETURN NULL;
END $$;
CREATE TRIGGER count_no_readers AFTER TRUNCATE ON subscriber
    FOR EACH STATEMENT EXECUTE FUNCTION count_no_readers();

INSERT INTO reader_total (state, readers) SELECT state, count(*) FROM subscriber GROUP BY state;
"""


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0004_readers_not_to_mail")]

    operations = [
        migrations.CreateModel(
            name="ReaderTotal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("state", models.CharField(max_length=12)),
                ("readers", models.IntegerField()),
            ],
            options={"db_table": "reader_total", "default_permissions": ()},
        ),
        migrations.RunSQL(TRIGGERS),
    ]
