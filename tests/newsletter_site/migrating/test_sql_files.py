"""Migrations run every `.sql` file, and can reverse each."""

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from migrations.sql_file import ROOT, SqlFile

CREATED = """
    SELECT pg_get_functiondef(pg_proc.oid) FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
    UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint
              WHERE connamespace = 'public'::regnamespace AND conname LIKE '%\\_are\\_sound'
    UNION ALL SELECT indexname FROM pg_indexes WHERE indexname = 'subscriber_search'
    UNION ALL SELECT sequencename FROM pg_sequences
              WHERE sequencename IN ('batch_on_request', 'test_letter_number')
    ORDER BY 1
"""


def created() -> list[tuple[str]]:
    with connection.cursor() as cursor:
        cursor.execute(CREATED)
        return cursor.fetchall()


def sql_files() -> list[SqlFile]:
    """Return the operations of all migrations that run a file, in their order."""
    loader = MigrationLoader(None)
    plan = loader.graph._generate_plan(loader.graph.leaf_nodes(), at_end=True)
    operations = [one for node in plan for one in loader.graph.nodes[node].operations]
    return [one for one in operations if isinstance(one, SqlFile)]


def test_migrations_run_every_file() -> None:
    files = {str(path.relative_to(ROOT)) for path in ROOT.glob("[a-z]*/**/sql/*.sql")}
    assert {one.path for one in sql_files()} == files


@pytest.mark.django_db
def test_every_file_can_be_reversed_and_run_again() -> None:
    before = created()
    assert len(before) > 50
    state = ProjectState()
    with connection.schema_editor(atomic=False) as editor:
        for one in reversed(sql_files()):
            one.database_backwards("", editor, state, state)
        assert created() == []
        for one in sql_files():
            one.database_forwards("", editor, state, state)
    assert created() == before
