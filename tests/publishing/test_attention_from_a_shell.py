"""What goes on only when a person decides is listed by the names that other commands take."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from delivery.models import Edition
from delivery.queue.mail_on_request import request_mail
from tests.delivery.newsroom import Newsroom

pytestmark = pytest.mark.django_db(transaction=True)


def listed() -> list[str]:
    out = StringIO()
    call_command("attention", stdout=out)
    return out.getvalue().splitlines()


def stop(edition: Edition) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE edition SET control = 'stopped', control_reason = 'No such token.', "
            "control_at = now() WHERE id = %s",
            [edition.pk],
        )
        cursor.execute("UPDATE batch SET state = 'paused' WHERE edition_id = %s", [edition.pk])


def test_what_goes_by_itself_is_not_listed() -> None:
    newsroom = Newsroom()
    assert listed() == ["Nothing waits for a person."]
    newsroom.publish(1)
    assert listed() == ["Nothing waits for a person."]


def test_an_issue_that_stopped_is_listed_by_the_version_that_did() -> None:
    newsroom = Newsroom()
    first = newsroom.publish(1, title="Swifts, {{ name|reader }}")
    stop(first)
    newer = Edition.objects.get(pk=first.pk)
    newer.pk, newer.version, newer.control, newer.idempotency_key = None, 2, "running", None
    newer.control_reason, newer.control_at = "", None
    newer.save(force_insert=True)
    assert listed() == [
        f"issue {first.issue_id} version 1 “Swifts, reader”: needs attention. No such token."
    ]
    call_command("edition", "resume", str(first.issue_id), version="1", stdout=StringIO())
    assert listed() == ["Nothing waits for a person."]


def test_mail_on_request_that_stopped_is_listed_and_resumed_by_that_name() -> None:
    with transaction.atomic():
        request_mail("confirmation", 1, [(1, "ada@example.net")], ahead=True)
    edition = Edition.objects.get(kind="confirmation")
    stop(edition)
    [line] = listed()
    assert line == (
        f"issue {edition.issue_id} version 1 “Confirmation mail”: needs attention. No such token."
    )
    call_command("edition", "resume", str(edition.issue_id), version="1", stdout=StringIO())
    assert listed() == ["Nothing waits for a person."]
