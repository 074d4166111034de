"""The list of readers reads only the rows of its page, with any number of readers."""

import importlib
import logging
from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.migrations.state import ProjectState

from subscribers.desk.reader_filter import ReaderFilter
from subscribers.desk.reader_list import load_page
from subscribers.desk.reader_order import ORDERS, Place
from subscribers.reader_totals import counts_by_state
from tests.database_cost.test_query_plans import rows_read, run
from tests.faults.servers.postgres_server import OwnServer

migration = importlib.import_module("migrations.subscribers.0002_consent_functions_and_search")
add_index = migration.SearchIndex("subscribers/desk/sql/subscriber_search.sql")

# Insert 20,000 readers, of whom three complained. The readers with rare names are the oldest.
READERS = """
INSERT INTO subscriber (email, name, state, source, confirmed_at)
SELECT 'reader' || n || CASE n % 4 WHEN 0 THEN '@web.example' ELSE '@post.example' END,
       CASE WHEN n < 4 THEN 'Żaneta ' || n WHEN n % 3 = 0 THEN '' ELSE 'Ada ' || n END,
       CASE WHEN n < 4 THEN 'complained' ELSE 'confirmed' END, 'sign-up', now()
FROM generate_series(1, 20000) AS n
"""


@pytest.fixture(scope="module")
def many(server: OwnServer) -> Iterator[str]:
    with server.fresh_database() as name:
        with server.as_djangos_own(server.url(name)):
            run(READERS)
            run("VACUUM (ANALYZE) subscriber")
        yield name


@pytest.fixture(autouse=True)
def readers(server: OwnServer, many: str) -> Iterator[None]:
    with server.fresh_database(many) as name, server.as_djangos_own(server.url(name)):
        yield


def found(state: str = "", text: str = "", before: int | None = None, sort: str = "") -> int:
    after = None if before is None else Place(before)
    return len(load_page(ReaderFilter(state, text), after, sort=sort)[0])


@pytest.mark.parametrize(
    ("state", "text", "before", "shown"),
    [
        ("", "", None, 50),
        ("", "", 10_000, 50),
        ("complained", "", None, 3),
        ("", "żaneta", None, 3),
        ("", "der1999", None, 11),
        ("", "eader19999@web.exa", None, 0),
        ("", "reader123@", None, 1),
        ("", "web.example", None, 50),
        ("confirmed", "Ada 777", None, 6),
        ("", "nobody@nowhere.example", None, 0),
        ("", "zq", None, 0),
        ("", "re", None, 50),
    ],
)
def test_a_page_reads_few_rows_of_many(
    state: str, text: str, before: int | None, shown: int
) -> None:
    earlier = rows_read("subscriber")
    assert found(state, text, before) == shown
    assert rows_read("subscriber") - earlier <= 250


@pytest.mark.parametrize("sort", list(ORDERS))
@pytest.mark.parametrize("before", [None, 3, 10_000, 19_999])
def test_a_page_of_any_order_reads_few_rows(sort: str, before: int | None) -> None:
    earlier = rows_read("subscriber")
    found(before=before, sort=sort)
    assert rows_read("subscriber") - earlier <= 250


def test_counts_read_no_readers() -> None:
    earlier = rows_read("subscriber")
    assert counts_by_state()["confirmed"] == 19_997
    assert rows_read("subscriber") == earlier


def test_search_works_where_the_extension_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    run("DROP EXTENSION pg_trgm CASCADE")
    run("CREATE ROLE guest")
    try:
        run("SET ROLE guest")
        with caplog.at_level(logging.WARNING), connection.schema_editor(atomic=False) as editor:
            add_index.database_forwards("subscribers", editor, ProjectState(), ProjectState())
        run("RESET ROLE")
        assert "could not be created (InsufficientPrivilege)" in caplog.text
        assert found(text="żaneta 2") == 1
        with connection.schema_editor(atomic=False) as editor:
            add_index.database_forwards("subscribers", editor, ProjectState(), ProjectState())
        earlier = rows_read("subscriber")
        assert found(text="żaneta 2") == 1
        assert rows_read("subscriber") - earlier <= 20
    finally:
        run("RESET ROLE; DROP ROLE guest")
