"""Migrations run every `.sql` file, and can reverse each of these files."""

import re

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from migrations.sql_file import ROOT, SqlFile
from tests.newsletter_site.migrating.present_schema import present_schema


def sql_files() -> list[SqlFile]:
    """Return the operations that run a file, in the order of their migrations."""
    loader = MigrationLoader(None)
    plan = loader.graph._generate_plan(loader.graph.leaf_nodes(), at_end=True)
    operations = [one for node in plan for one in loader.graph.nodes[node].operations]
    return [one for one in operations if isinstance(one, SqlFile)]


def test_migrations_run_every_file() -> None:
    files = {str(path.relative_to(ROOT)) for path in ROOT.glob("[a-z]*/**/sql/*.sql")}
    assert {one.path for one in sql_files()} == files


@pytest.mark.django_db
def test_every_file_can_be_reversed_and_run_again() -> None:
    state = ProjectState()
    with connection.cursor() as cursor, connection.schema_editor(atomic=False) as editor:
        before = present_schema(cursor)
        for one in reversed(sql_files()):
            one.database_backwards("", editor, state, state)
        left = present_schema(cursor)
        for one in sql_files():
            one.database_forwards("", editor, state, state)
        assert present_schema(cursor) == before
    created = r"TRIGGER|FUNCTION|SEQUENCE|_are_sound|subscriber_search"
    assert re.search(created, before)
    assert not re.search(created, left)
