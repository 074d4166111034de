"""The command `prune` can be killed in the middle, and two runs share the work."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry

from delivery.models import Edition
from delivery.reports.audit import find_violations
from newsletter_site.data_retention import prune
from publishing.receipts.make_receipt import receipt_of
from tests.delivery.edition_factory import Newsroom
from tests.postgres_cluster import ROOT
from tests.retention.conftest import one_of_three_kinds

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(database_url: str) -> Start:
    """Start `manage.py prune`."""

    def begin(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "manage.py", "prune", *words],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": database_url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


def gone() -> dict[str, int]:
    return {each.rule.name: each.number for each in prune(pause=float)}


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_killed_run_deletes_whole_pieces_and_the_next_continues(
    newsroom: Newsroom,
    make_older: Callable[..., None],
    onlooker: psycopg.Connection[Any],
    start: Start,
) -> None:
    one_of_three_kinds(newsroom)
    make_older(400)
    with onlooker.transaction():
        onlooker.execute("LOCK TABLE uploaded_image IN ACCESS EXCLUSIVE MODE")
        process = start()
        newsroom.wait_for_a_backend_that_waits_for_a_lock(doing="uploaded_image")
        kill(process)

    left = gone()
    assert (left["events"], left["pictures"], left["looks"]) == (0, 1, 1)


def test_two_runs_both_continue_and_one_is_logged(
    newsroom: Newsroom, old: Edition, onlooker: psycopg.Connection[Any], start: Start
) -> None:
    newsroom.author.is_superuser = True
    newsroom.author.save()
    receipt_of(old)
    with onlooker.transaction():
        # Both runs have read the state before one of them marks the copies as dropped.
        onlooker.execute("LOCK TABLE receipt IN ACCESS EXCLUSIVE MODE")
        both = [start("--copies-of", str(old.issue_id)) for _ in range(2)]
        newsroom.wait_for_a_backend_that_waits_for_a_lock(2, doing="receipt")
    outs = [process.communicate() for process in both]
    # A run that waited a second for the other run ends with an error. If so, start it again.
    for place, (_, errors) in enumerate(outs):
        if "Waited too long" in errors:
            both[place] = start("--copies-of", str(old.issue_id))
            outs[place] = both[place].communicate()

    assert [process.returncode for process in both] == [0, 0], outs
    assert sum(json.loads(out.splitlines()[-1])["copies"] for out, _ in outs) == 5
    sentences = LogEntry.objects.filter(change_message__contains="drop_copies")
    assert sentences.count() == 1
    assert find_violations([old.pk]) == []
