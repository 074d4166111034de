"""Lines that operators need after a restore are logged at every log level."""

from typing import Any

import pytest

from publishing.publish.publish_edition import publish
from subscribers.models import Subscriber
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter
from tests.run_manage_command import typed

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]


def test_cancellations_and_erasures_are_logged(
    database_url: str, author: Any, three_readers: list[Subscriber], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "error")
    edition = publish(author.pk, "a key", letter("Swifts"), hold_s=600).edition
    reader = three_readers[0].pk

    cancelled = typed(database_url, "edition", "cancel", str(edition.issue_id))
    erased = typed(
        database_url,
        *(
            "shell",
            "-v",
            "0",
            "-c",
            f"from subscribers.data_requests.erase import erase; erase({reader})",
        ),
    )

    assert '"event": "version 1 of an issue: cancel from the command line"' in cancelled.stderr
    assert f'"issue": "{edition.issue_id}"' in cancelled.stderr
    assert f'"event": "reader {reader} was erased"' in erased.stderr
    assert "was published" not in cancelled.stderr


def test_actions_on_pages_are_logged(
    window: WindowOf, author: Any, three_readers: list[Subscriber], caplog: pytest.LogCaptureFixture
) -> None:
    edition = publish(author.pk, "a key", letter("Swifts"), hold_s=600).edition

    with caplog.at_level("INFO", "publishing.activity.record_issue_activity"):
        window.post(f"/admin/newsletters/{edition.issue_id}/pause/", version="1")

    assert "version 1 of an issue: pause" in caplog.messages
