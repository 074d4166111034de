"""Moves of past issues whose process is killed."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from delivery.models import Edition
from publishing.models import IssueMove, IssueMovePiece, MovedIssue, UploadedImage
from tests.publishing.author_browser import WindowOf
from tests.publishing.past_issues.sample_exports import LETTER, SWIFTS, substack
from tests.subscribers.importing.import_processes import ImportProcess, wait_until_blocked

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

    # Another session holds the third issue; there the process is killed.
    with psycopg.connect(database_url) as other:
        other.execute(
            "INSERT INTO moved_issue (key, issue_id) VALUES ('substack 2', %s)", (uuid4(),)
        )
        process = ImportProcess(database_url, *words, command="import_issues")
        wait_until_blocked(database_url, "transactionid", "%INSERT INTO%moved_issue%")
        assert "2 of 4 issues are done." in window.get("/admin/newsletters/move/issues/").words
        process.kill()
        other.rollback()
    IssueMove.objects.update(lease_until=timezone.now())

    # The same command continues the move. Then it finds nothing new in the file.
    again = ImportProcess(database_url, *words, command="import_issues").summary()
    assert again["known"] == again["issues"] == 4
    assert whole_state() == undisturbed
