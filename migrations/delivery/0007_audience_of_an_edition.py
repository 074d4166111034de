"""What a letter uses of the author's fields, and the tags that limit its audience."""

import django.contrib.postgres.fields
from django.db import migrations, models


# The function of the second migration refuses this too: the audience is part of what was published.
FROZEN = ("merge_fields", "with_tags", "without_tags")
TRIGGER = f"""
CREATE TRIGGER the_audience_of_an_edition_never_changes
    BEFORE UPDATE OF {", ".join(FROZEN)} ON edition FOR EACH ROW
    WHEN (({", ".join(f"OLD.{name}" for name in FROZEN)})
          IS DISTINCT FROM ({", ".join(f"NEW.{name}" for name in FROZEN)}))
    EXECUTE FUNCTION the_content_of_an_edition_never_changes();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0006_index_of_batches"),
    ]

    operations = [
        migrations.AddField(
            model_name="edition",
            name="merge_fields",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=30), db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="edition",
            name="with_tags",
            field=models.JSONField(db_default=[], default=list),
        ),
        migrations.AddField(
            model_name="edition",
            name="without_tags",
            field=models.JSONField(db_default=[], default=list),
        ),
        migrations.RunSQL(
            TRIGGER, "DROP TRIGGER the_audience_of_an_edition_never_changes ON edition"
        ),
    ]
