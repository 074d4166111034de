"""The site that benchmarks run on: as on a server, and gone afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

from benchmarks.provider_process import Counts
from benchmarks.site import Site, a_site

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """One for all tests here."""
    with a_site(keep=True) as site:
        yield site


def test_it_is_set_up_as_a_server_is(site: Site) -> None:
    assert site.manage("check", "--deploy", "--fail-level", "WARNING")
    assert site.settings["DEBUG"] == "off"


def test_the_database_keeps_what_it_says(site: Site) -> None:
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        assert site.one("SELECT current_setting(%s)", setting) == "on"


def test_a_letter_goes_to_each_reader_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELIVERY_BATCH_SIZE", "not one of ours")
    site.readers(30)
    site.readers(50)
    site.publish()
    assert json.loads(site.manage("deliver", "--until-empty").splitlines()[-1])["sent"] == 50
    counts = site.provider.counts()
    assert (counts.calls, counts.messages, counts.readers) == (1, 50, 50)
    assert site.provider.twice() == []


def test_the_provider_begins_anew_with_a_delay_and_nothing_counted(site: Site) -> None:
    before = site.environment["POSTMARK_BASE_URL"]
    assert site.provider.start(delay_ms=1) == site.environment["POSTMARK_BASE_URL"] != before
    assert site.provider.counts() == Counts(calls=0, messages=0, bytes=0, readers=0)


def test_readers_do_not_become_fewer(site: Site) -> None:
    site.readers(60)
    with pytest.raises(RuntimeError, match="The list has 60 readers, and 10 were wanted"):
        site.readers(10)


def test_a_command_that_fails_says_why(site: Site) -> None:
    with pytest.raises(RuntimeError, match=r"publish failed:\n(.|\n)*--title"):
        site.manage("publish")


def test_it_is_gone_afterwards() -> None:
    with a_site() as site, site.running("deliver") as worker:
        pass
    assert worker.poll() is not None
    assert not site.folder.exists()
    with pytest.raises(psycopg.OperationalError):
        site.connect()
