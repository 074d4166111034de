"""The author's own fields, and tags and topics of readers."""

import django.contrib.postgres.fields
import django.db.models.functions.text
from django.db import migrations, models


# JSON cannot contain control characters, but its texts can, as escapes.
RULES = r"""
CREATE FUNCTION reader_fields_are_sound(fields jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_typeof(fields) = 'object' AND NOT EXISTS (
        SELECT FROM jsonb_each(fields) AS field
        WHERE jsonb_typeof(value) <> 'string' OR value #>> '{}' = ''
           OR length(value #>> '{}') > 256
           OR value #>> '{}' ~ '[\u0001-\u001F\u007F-\u009F\u2028\u2029]')
$$;
ALTER TABLE subscriber ADD CONSTRAINT the_fields_of_a_subscriber_are_sound
    CHECK (fields = '{}' OR reader_fields_are_sound(fields)) NOT VALID;
ALTER TABLE subscriber ADD CONSTRAINT a_left_topic_is_no_tag
    CHECK (NOT tags && left_topics) NOT VALID;

CREATE FUNCTION tags_with(tags integer[], left_topics integer[], added integer[]) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT tag ORDER BY tag), '{}')
    FROM unnest(tags || added) AS tag WHERE tag <> ALL (left_topics)
$$;
CREATE FUNCTION tags_without(tags integer[], removed integer[]) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(tag ORDER BY tag), '{}')
    FROM unnest(tags) AS tag WHERE tag <> ALL (removed)
$$;
"""
UNDO = """
ALTER TABLE subscriber DROP CONSTRAINT the_fields_of_a_subscriber_are_sound,
                       DROP CONSTRAINT a_left_topic_is_no_tag;
DROP FUNCTION reader_fields_are_sound, tags_with, tags_without;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("subscribers", "0007_index_for_search"),
    ]

    operations = [
        migrations.AddField(
            model_name="subscriber",
            name="left_topics",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.IntegerField(), db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="subscriber",
            name="fields",
            field=models.JSONField(db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name="subscriber",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.IntegerField(), db_default=[], default=list, size=None
            ),
        ),
        migrations.CreateModel(
            name="ReaderFieldDefinition",
            fields=[
                ("key", models.CharField(max_length=30, primary_key=True, serialize=False)),
                ("label", models.CharField(max_length=60)),
                (
                    "fallback",
                    models.CharField(blank=True, db_default="", default="", max_length=256),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("on_form", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "db_table": "reader_field",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        deferrable=models.Deferrable.DEFERRED,
                        fields=("position",),
                        name="one_field_per_position",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("key__regex", "^[a-z][a-z0-9_]*$")),
                        name="a_field_key_is_a_plain_word",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("position__range", (1, 20))),
                        name="there_are_at_most_20_fields",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Tag",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("is_topic", models.BooleanField(db_default=False, default=False)),
                (
                    "description",
                    models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
            ],
            options={
                "db_table": "tag",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("name"), name="one_tag_per_name"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="a_tag_has_a_name"
                    ),
                ],
            },
        ),
        migrations.RunSQL(RULES, UNDO),
    ]
