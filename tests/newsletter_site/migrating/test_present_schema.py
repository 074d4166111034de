"""`docs/schema.sql` shows the current schema.

To write `docs/schema.sql` again, run `HOMING_WRITE_SCHEMA=1 ./homing test` with this file.
"""

import os

import pytest
from django.db import connection

from tests.newsletter_site.migrating.present_schema import ROOT, present_schema

FILE = ROOT / "docs" / "schema.sql"


@pytest.mark.django_db
def test_the_documented_schema_is_the_present_one() -> None:
    with connection.cursor() as cursor:
        schema = present_schema(cursor)
    if "HOMING_WRITE_SCHEMA" in os.environ:
        FILE.write_text(schema)
    assert schema == FILE.read_text()
