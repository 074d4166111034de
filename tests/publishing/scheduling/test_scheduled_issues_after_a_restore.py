"""A scheduled issue is sent once, even if an earlier backup is restored."""

from pathlib import Path
from typing import Any

import pytest

from delivery.reconcile import database_identity
from postmark_sandbox.server import SandboxServer
from tests.delivery.database_backup import backup_of
from tests.delivery.edition_factory import Newsroom
from tests.delivery.homing_installation import Installation
from tests.publishing.schedule_issue import make_edition_due, schedule

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.process,
    pytest.mark.timeout(400),  # each test runs up to eight processes
]

QUICK = {
    "DELIVERY_HTTP_DEADLINE_S": "1",
    "DELIVERY_LEASE_S": "1",
    "DELIVERY_LOOKUP_AFTER_S": "0.2,0.5,2",
    "DELIVERY_RETRY_BASE_S": "0.1",
    "DELIVERY_RETRY_CAP_S": "1",
}


def test_issue_sent_after_the_backup_reaches_nobody_twice(database_url: str, settings: Any) -> None:
    settings.DELIVERY_BATCH_SIZE = 2
    newsroom = Newsroom()
    newsroom.confirm(3)
    edition = schedule(newsroom)
    make_edition_due(edition)
    database_identity.check_identity()
    with SandboxServer() as provider, backup_of(database_url) as backup:

        def copies() -> list[int]:
            return list(provider.sandbox.outbox.copies(lambda size: size > 0).values())

        original = Installation(provider.url, DATABASE_URL=database_url, **QUICK)
        original.last_line("deliver", "--until-empty")
        assert copies() == [1, 1, 1]
        restored = Installation(provider.url, DATABASE_URL=backup.url, **QUICK)
        restored.last_line("deliver", "--until-empty", exit_code=3)
        assert copies() == [1, 1, 1]

        found = restored.last_line("reconcile")
        assert (found["recorded"], found["reconciled"]) == (3, 1)
        restored.last_line("deliver", "--until-empty")

        assert copies() == [1, 1, 1]
        state = restored.last_line("issue_status", str(edition.issue_id))
        assert (state["state"], state["audience"], state["sent"]) == ("succeeded", 3, 3)
        restored.run("audit")


def test_a_correction_after_a_restore_gives_nobody_a_second_version(
    database_url: str, tmp_path: Path
) -> None:
    newsroom = Newsroom()
    first = newsroom.publish(3)
    database_identity.check_identity()
    letter = tmp_path / "letter.txt"
    letter.write_text("Put right.")
    author = newsroom.author.username
    with SandboxServer() as provider, backup_of(database_url) as backup:
        original = Installation(provider.url, DATABASE_URL=database_url, **QUICK)
        original.last_line("deliver", "--until-empty")
        restored = Installation(provider.url, DATABASE_URL=backup.url, **QUICK)
        # At this moment no worker has noticed the restore.
        restored.last_line("edition", "cancel", str(first.issue_id))
        restored.last_line("deliver", "--until-empty")
        correct = ("publish", "--title=Swifts", f"--text-file={letter}", f"--author={author}")
        of_issue = ("--hold=0", f"--issue={first.issue_id}", "--version=2")

        refused = restored.run(*correct, *of_issue, exit_code=1)
        assert f"Run `./homing reconcile {first.issue_id}` first" in refused.stderr

        restored.last_line("reconcile", str(first.issue_id))
        assert restored.last_line(*correct, *of_issue)["audience"] == 0
        restored.last_line("deliver", "--until-empty")
        assert list(provider.sandbox.outbox.copies(lambda size: size > 0).values()) == [1, 1, 1]
