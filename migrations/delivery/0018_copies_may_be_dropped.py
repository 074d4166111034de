"""The copies of an edition that is over may be dropped; then it says since when, for good."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

STAY_DROPPED = """
CREATE FUNCTION copies_once_dropped_stay_dropped() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the copies of edition % were dropped at %, and stay so',
                    OLD.id, OLD.copies_dropped_at
        USING ERRCODE = 'integrity_constraint_violation',
              CONSTRAINT = 'copies_once_dropped_stay_dropped',
              HINT = 'Their rows are gone; nothing brings them back but a backup.';
END $$;
CREATE TRIGGER copies_once_dropped_stay_dropped
    BEFORE UPDATE OF copies_dropped_at ON edition FOR EACH ROW
    WHEN (OLD.copies_dropped_at IS DISTINCT FROM NEW.copies_dropped_at
          AND OLD.copies_dropped_at IS NOT NULL)
    EXECUTE FUNCTION copies_once_dropped_stay_dropped();
"""

MAY_COME_BACK = """
DROP TRIGGER copies_once_dropped_stay_dropped ON edition;
DROP FUNCTION copies_once_dropped_stay_dropped();
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0017_what_is_held_back")]

    operations = [
        migrations.AddField(
            model_name="edition",
            name="copies_dropped_at",
            field=models.DateTimeField(
                help_text="Its copies are not kept any more, though some rows may still be there.",
                null=True,
            ),
        ),
        AddConstraintNotValid(
            model_name="edition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("copies_dropped_at__isnull", True),
                    models.Q(
                        ("control__in", ["running", "cancelled", "closed"]),
                        ("kind", "newsletter"),
                        ("probing", False),
                        ("unreconciled_since__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="copies_are_dropped_only_of_what_is_over",
            ),
        ),
        migrations.RunSQL(STAY_DROPPED, MAY_COME_BACK),
    ]
