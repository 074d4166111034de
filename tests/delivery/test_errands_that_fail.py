"""An errand that fails says why, and is told until it goes well or nobody goes on it any more."""

from __future__ import annotations

import logging
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from delivery import polling
from delivery.models import Errand
from delivery.queue.errand import have_a_row
from delivery.queue.health import health
from delivery.queue.standing import standing
from newsletter_site.logs.lines import LineFormatter
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom, never


def listed() -> list[str]:
    out = StringIO()
    call_command("errands", stdout=out)
    return out.getvalue().splitlines()


def told() -> dict[str, int]:
    with connection.cursor() as cursor:
        return dict(standing(cursor).errands)


def leave_alone(name: str, hours: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE errand SET due_at = clock_timestamp() - make_interval(hours => %s) "
            "WHERE name = %s",
            [hours, name],
        )


@pytest.fixture
def mistyped(newsroom: Newsroom, provider: SandboxServer, settings: Any) -> str:
    """A stream was asked for by a wrong name, three times in vain; now its name is right."""
    right = settings.POSTMARK_TRANSACTIONAL_STREAM
    settings.POSTMARK_TRANSACTIONAL_STREAM = "brodcast"
    polling.poll(never)
    settings.POSTMARK_TRANSACTIONAL_STREAM = right
    polling.poll(never)
    Errand.objects.filter(name="poll brodcast").update(failures=3)
    return "poll brodcast"


def test_the_line_in_the_log_says_why_the_provider_could_not_be_asked(
    newsroom: Newsroom, provider: SandboxServer, caplog: pytest.LogCaptureFixture
) -> None:
    provider.sandbox.set_fault("maintenance_503", path="/bounces", calls=1)
    with caplog.at_level(logging.WARNING, "delivery.polling"):
        polling.poll(never)
    said = Errand.objects.get(name="poll broadcast").said
    formatter = LineFormatter(shape="lines", words=False, secrets=[])
    lines = [formatter.format(record) for record in caplog.records]
    assert len(said) > 10
    assert any(said in line for line in lines), (said, lines)


def test_errands_are_listed_with_why_they_failed_and_when_they_are_due(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    assert listed() == ["No worker has gone on an errand yet."]
    provider.sandbox.set_fault("maintenance_503", path="/bounces", calls=1)
    polling.poll(never)
    failed, well = listed()
    said = Errand.objects.get(name="poll broadcast").said
    assert failed.startswith(f"poll broadcast: failed once: {said} It never went well. Tried again")
    assert well.startswith("poll outbound: went well at ")
    assert " Due at " in well


def test_an_errand_that_nobody_goes_on_any_more_is_told_no_longer(mistyped: str) -> None:
    assert told()[mistyped] == 3
    leave_alone(mistyped, hours=2)
    assert told() == {"poll broadcast": 0, "poll outbound": 0}
    assert health().asked_in_vain == 0
    [line] = [line for line in listed() if line.startswith(mistyped)]
    assert "Nobody has gone on it since it was due at" in line


def test_one_that_is_due_and_waits_for_its_worker_is_told(newsroom: Newsroom) -> None:
    have_a_row("poll broadcast")
    Errand.objects.update(failures=3)
    leave_alone("poll broadcast", hours=0)
    assert told() == {"poll broadcast": 3}
    assert health().asked_in_vain == 3
