"""What the rows of the benchmarks are made of does what their figures rest on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from benchmarks.browser import OverHttp
from benchmarks.database_work import Changes, DatabaseWork
from benchmarks.frame import Options
from benchmarks.imports import by_the_command, by_the_page, write_list
from benchmarks.posted_again import DESK, FORM
from benchmarks.rows import replay
from benchmarks.rows.publish import Press
from benchmarks.rows.recovery import until
from benchmarks.rows.snapshot import a_snapshot
from benchmarks.sign_in import MANAGERS, sessions_of
from benchmarks.site import Site, a_site
from benchmarks.web_server import WebServer, a_web_server

pytestmark = pytest.mark.timeout(300)

ROWS, READERS = 1_000, 300


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """One for all tests here."""
    with a_site() as site:
        site.readers(READERS)
        yield site


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[WebServer]:
    with a_web_server(site) as server:
        yield server


@pytest.fixture
def database(site: Site) -> Iterator[psycopg.Connection[Any]]:
    with closing(site.connect()) as database:
        yield database


def test_publishing_and_the_bare_statement_fill_tables_that_are_alike(
    site: Site, server: WebServer, database: psycopg.Connection[Any]
) -> None:
    press = Press(database, OverHttp(server.address, sessions_of(site, 1)[0]), READERS)
    press.make_ready()
    whole_s, bare_s = press.publish(), press.fill_bare()
    assert 0 < press.enqueued[-1] < whole_s
    assert bare_s > 0

    database.execute("ALTER TABLE bare SET (fillfactor = 100)")
    with pytest.raises(AssertionError, match="the tables differ"):
        press.compare()


def test_a_page_over_http_is_the_site_s_own(site: Site, server: WebServer) -> None:
    signed_out = OverHttp(server.address, "nobody's")
    page = signed_out.post(DESK, FORM)
    assert page.status == 302
    assert "login" in page.headers["Location"]


def test_a_replay_is_measured_beside_an_empty_page() -> None:
    result = replay.measure(Options(rounds=2, quick=True))
    (target,) = result.targets
    assert len(target.figure.runs) == 2
    assert target.figure.low > 1


def test_a_list_is_imported_both_ways_as_it_was_written(site: Site) -> None:
    one, other = site.folder / "one.csv", site.folder / "other.csv"
    of_one, of_other = write_list(one, ROWS, "-one"), write_list(other, ROWS, "-other")
    assert of_one == of_other
    assert sum(of_one.values()) == 2 * ROWS

    assert of_one.items() <= by_the_command(site, one).told.items()

    (session,) = sessions_of(site, 1, MANAGERS)
    steps = by_the_page(site, other, session)
    assert list(steps) == ["upload", "check", "import"]
    assert all(step.peak_mb > 10 for step in steps.values())
    assert (of_other | {"created": False}).items() <= by_the_command(site, other).told.items()


def test_what_a_table_was_changed_and_a_checkpoint_are_noticed(
    site: Site, database: psycopg.Connection[Any]
) -> None:
    database.execute("CREATE TABLE counted (id int PRIMARY KEY, word text) WITH (fillfactor = 50)")
    database.execute("INSERT INTO counted SELECT n, 'one' FROM generate_series(1, 10) AS n")
    counting = DatabaseWork(database, ["counted"])
    with site.connect() as other:
        other.execute("UPDATE counted SET word = 'other' WHERE id <= 4")
        other.execute("UPDATE counted SET id = id + 100 WHERE id = 1")

    work = counting.so_far()
    assert work.changes["counted"] == Changes(updated=5, hot=4)
    assert 0 < work.wal_bytes < 1_000_000
    assert not work.had_a_checkpoint

    database.execute("CHECKPOINT")
    assert counting.so_far().had_a_checkpoint


def test_a_snapshot_keeps_what_was_replaced(site: Site, database: psycopg.Connection[Any]) -> None:
    database.execute("CREATE TABLE kept (word text)")
    database.execute("INSERT INTO kept VALUES ('one')")
    with a_snapshot(site):
        database.execute("UPDATE kept SET word = 'other'")
        database.execute("VACUUM kept")
        assert _versions(database, "kept") == 2
    database.execute("VACUUM kept")
    assert _versions(database, "kept") == 1


def test_waiting_ends_and_says_for_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.rows.recovery.LONGEST_S", 0.1)
    with pytest.raises(RuntimeError, match="still not so that it was over"):
        until("it was over", lambda: False)


def _versions(database: psycopg.Connection[Any], table: str) -> int:
    """Of its one row, what stands in its first page."""
    row = database.execute(
        "SELECT n_live_tup + n_dead_tup FROM pg_stat_user_tables WHERE relname = %s", [table]
    ).fetchone()
    assert row is not None
    return int(row[0])
