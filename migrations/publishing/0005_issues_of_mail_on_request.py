"""The issues of the two kinds of mail on request, the same in every database."""

from __future__ import annotations

import uuid

from django.db import migrations

ISSUES = (
    (uuid.UUID("e93348ef-096e-4c6c-a194-8c9e51f5b825"), "Confirmation mail"),
    (uuid.UUID("5746c21d-e5f7-4e1a-a220-cf610df36c6d"), "Record mail"),
)


def seed(apps, schema_editor):
    """One row each. Their addresses lead nowhere: only newsletters are in the archive."""
    for issue, title in ISSUES:
        slug = f"{title.lower().replace(' ', '-')}-{issue.hex[:8]}"
        apps.get_model("publishing", "Issue").objects.get_or_create(
            pk=issue, defaults={"title": title, "slug": slug}
        )


class Migration(migrations.Migration):
    dependencies = [("publishing", "0004_unlisted_issues")]

    operations = [migrations.RunPython(seed, migrations.RunPython.noop)]
