"""The one issue whose versions are test letters, the same in every database."""

from __future__ import annotations

import uuid

from django.db import migrations

TEST_ISSUE = uuid.UUID("0d3cf5c3-3b0c-4f3e-9d64-6a1c6f0d3c52")


def seed(apps, schema_editor):
    """Its address leads nowhere: only newsletters are in the archive."""
    apps.get_model("publishing", "Issue").objects.get_or_create(
        pk=TEST_ISSUE,
        defaults={"title": "Test letters", "slug": f"test-letters-{TEST_ISSUE.hex[:8]}"},
    )


class Migration(migrations.Migration):
    dependencies = [("publishing", "0006_what_the_desk_writes")]

    operations = [migrations.RunPython(seed, migrations.RunPython.noop)]
