"""Moves of past issues stay correct if their process is killed."""

import io
import os
import signal
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from delivery.models import Edition
from delivery.tasks.separate_process import run_separately
from publishing.models import IssueMove, IssueMovePiece, MovedIssue, UploadedImage
from publishing.past_issues import move_task
from publishing.past_issues.report_sentences import error_sentence
from tests.publishing.author_browser import WindowOf
from tests.publishing.past_issues.sample_exports import LETTER, SWIFTS, substack
from tests.publishing.second_connection import PATIENCE_S, beside
from tests.subscribers.importing.import_processes import ImportProcess, children, wait_until_blocked

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]


def whole_state() -> tuple[Any, ...]:
    columns = ("issue__slug", "title", "published_at", "version")
    return (
        list(IssueMove.objects.values_list("state", "done", "counts")[:1]),
        list(Edition.objects.order_by("issue__slug").values_list(*columns)),
        list(MovedIssue.objects.order_by("pk").values_list("pk", flat=True)),
        UploadedImage.objects.count(),
        IssueMovePiece.objects.count(),
    )


def test_a_killed_move_ends_like_an_undisturbed_one(
    author: Any,
    window: WindowOf,
    tmp_path: Path,
    database_url: str,
) -> None:
    rows = [{"post_id": f"{n}.issue-{n}", "title": f"{n}"} for n in (1, 2, 3)]
    path = tmp_path / "substack.zip"
    path.write_bytes(substack(LETTER, *rows, **{"pictures/swifts.png": SWIFTS}))
    words = (str(path), "--author", author.username)
    assert ImportProcess(database_url, *words, command="import_issues").summary()["moved"] == 4
    undisturbed = whole_state()
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE issue, issue_move, moved_issue, uploaded_image, edition CASCADE")

    # Lock the third issue in another session. The process waits for this lock when it is killed.
    with psycopg.connect(database_url) as other:
        other.execute(
            "INSERT INTO moved_issue (key, issue_id) VALUES ('substack 2', %s)", (uuid4(),)
        )
        process = ImportProcess(database_url, *words, command="import_issues")
        wait_until_blocked(database_url, "transactionid", "%INSERT INTO%moved_issue%")
        assert "Issues done: 2 of 4." in window.get("/admin/newsletters/move/issues/").words
        process.kill()
        other.rollback()
    IssueMove.objects.update(lease_until=timezone.now())

    # The same command first finishes the killed move. Afterwards it reads the file once more and
    # finds no new issues.
    again = ImportProcess(database_url, *words, command="import_issues").summary()
    assert again["known"] == again["issues"] == 4
    assert whole_state() == undisturbed


def test_a_move_whose_process_is_killed_is_refused_once(
    author: Any, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    rows = [{"post_id": f"{n}.issue-{n}", "title": f"{n}"} for n in (1, 2)]
    export = substack(LETTER, *rows, **{"pictures/swifts.png": SWIFTS})
    move = move_task.request_move(io.BytesIO(export), "a.zip", "", author.pk)
    earlier = children()
    with psycopg.connect(database_url) as other:
        other.execute(
            "INSERT INTO moved_issue (key, issue_id) VALUES ('substack 2', %s)", (uuid4(),)
        )
        worker = beside(lambda: run_separately("past_issues", lambda: False))
        wait_until_blocked(database_url, "transactionid", "%INSERT INTO%moved_issue%")
        # Kill the process as the kernel does when memory is exhausted.
        (process,) = children() - earlier
        os.kill(process, signal.SIGKILL)
        assert worker.result(PATIENCE_S)
        other.rollback()
    move.refresh_from_db()
    assert (move.state, move.done, move.total) == ("refused", 2, 3)
    assert "Homing stopped at issue 3" in error_sentence(move)
    assert not run_separately("past_issues", lambda: False)
    assert not IssueMovePiece.objects.exists()
