"""The site that benchmarks run on: as on a server, and gone afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest

from benchmarks.provider_process import Counts
from benchmarks.site import ROOT, Site, a_site

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


def test_a_shell_that_knows_of_another_database_leads_nobody_into_it() -> None:
    look = "import os, benchmarks; print([name for name in os.environ if name.startswith('PG')])"
    done = subprocess.run(
        [sys.executable, "-c", look],
        cwd=ROOT,
        env=os.environ | {"PGHOSTADDR": "192.0.2.1", "PGSERVICE": "another"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@pytest.mark.parametrize("program", ["import_step", "posted_again", "progress_read", "sign_in"])
def test_what_runs_within_a_benchmarks_site_runs_within_no_other(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{program}", *"12345"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("This runs within the site of a benchmark")
