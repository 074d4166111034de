"""What was scheduled when a backup was made goes out once, though workers knew another database."""

from __future__ import annotations

from typing import Any

import pytest

from delivery.queue import identity
from postmark_sandbox.server import SandboxServer
from tests.delivery.copied_database import backup_of
from tests.delivery.manage import Installation
from tests.delivery.newsroom import Newsroom
from tests.publishing.scheduling_desk import its_time_came, schedule

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]

QUICK = {
    "DELIVERY_HTTP_DEADLINE_S": "1",
    "DELIVERY_LEASE_S": "1",
    "DELIVERY_LOOKUP_AFTER_S": "0.2,0.5,2",
    "DELIVERY_RETRY_BASE_S": "0.1",
    "DELIVERY_RETRY_CAP_S": "1",
}


def test_what_went_out_after_the_backup_goes_to_nobody_twice(
    database_url: str, settings: Any
) -> None:
    settings.DELIVERY_BATCH_SIZE = 2
    newsroom = Newsroom()
    newsroom.confirm(3)
    edition = schedule(newsroom)
    its_time_came(edition)
    identity.notice()
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
        stands = restored.last_line("issue_status", str(edition.issue_id))
        assert (stands["state"], stands["audience"], stands["sent"]) == ("succeeded", 3, 3)
        restored.run("audit")
