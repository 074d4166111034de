"""Editions that need a decision, on the desk and in the commands."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from delivery.mail.transactional_mail_texts import CONFIRMATION_ISSUE
from delivery.models import Edition
from delivery.queue.edition_control import stop
from delivery.queue.enqueue_transactional import request_mail
from publishing.editions.versions import VersionRefusedError
from publishing.models import Issue
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.publishing.content_factory import letter
from tests.publishing.publish_with import publish
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

REASON = "Postmark has not approved the account."
NOTHING = ["No edition needs your decision."]


@pytest.fixture
def stopped():
    """Stop the confirmation mails, as an error of the Postmark account would."""
    Issue.objects.get_or_create(
        pk=CONFIRMATION_ISSUE, defaults={"title": "Confirmation mail", "slug": "confirmation-mail"}
    )
    reader = SubscriberFactory(state="pending")
    with transaction.atomic(), connection.cursor() as cursor:
        request_mail("confirmation", 1, [(reader.pk, reader.email)], ahead=True)
        edition = Edition.objects.get(issue=CONFIRMATION_ISSUE)
        stop(cursor, edition.pk, because(REASON))
    return edition


def test_stopped_confirmations_are_shown_and_can_be_resumed(window, stopped):
    page = window.get("/admin/newsletters/issues/").html
    assert REASON in page
    assert f"/admin/newsletters/{CONFIRMATION_ISSUE}/resume/?version=1" in page

    window.post(f"/admin/newsletters/{CONFIRMATION_ISSUE}/resume/?version=1")

    stopped.refresh_from_db()
    assert stopped.control == "running"
    assert REASON not in window.get("/admin/newsletters/issues/").words


def test_transactional_mail_has_no_link_to_a_new_version(window, stopped, author):
    of_an_issue = publish(author.pk, "k", letter("Herons"), hold_s=0).edition.issue_id
    way = "/admin/newsletters/write/?issue="

    assert f'href="{way}{of_an_issue}"' in window.get(f"/admin/newsletters/{of_an_issue}/").html
    page = window.get(f"/admin/newsletters/{CONFIRMATION_ISSUE}/")

    assert page.status == 200
    assert way not in page.html
    # Transactional mail is never in the archive, so its page has no buttons about the archive.
    assert "View in archive" not in page.words
    assert "/listing/" not in page.html
    with pytest.raises(VersionRefusedError):
        publish(author.pk, "k2", letter("Herons"), hold_s=0, issue=CONFIRMATION_ISSUE, version=2)


@pytest.mark.parametrize("action", ["cancel", "close", "call-back", "send-now"])
def test_transactional_mail_cannot_be_ended(stopped, action):
    with pytest.raises(CommandError, match="it has no end"):
        call_command("edition", action, str(CONFIRMATION_ISSUE))


def test_transactional_mail_is_not_in_the_archive(client, stopped):
    Edition.objects.filter(pk=stopped.pk).update(control="running")
    assert "Confirm" not in client.get("/archive/", secure=True).content.decode()
    slug = Issue.objects.get(pk=CONFIRMATION_ISSUE).slug
    assert client.get(f"/archive/{slug}/", secure=True).status_code == 404


def listed() -> list[str]:
    out = io.StringIO()
    call_command("attention", stdout=out)
    return out.getvalue().splitlines()


def test_the_command_lists_the_stopped_version() -> None:
    newsroom = Newsroom()
    assert listed() == NOTHING
    first = newsroom.publish(1, title="Swifts, {{ name|reader }}")
    assert listed() == NOTHING  # needs no decision: it is sent automatically
    with transaction.atomic(), connection.cursor() as cursor:
        stop(cursor, first.pk, because("No such token."))
    newer = Edition.objects.get(pk=first.pk)
    newer.pk, newer.version, newer.control, newer.idempotency_key = None, 2, "running", None
    newer.control_reason, newer.control_at = "", None
    newer.save(force_insert=True)
    assert listed() == [
        f"issue {first.issue_id} version 1 “Swifts, reader”: needs attention. No such token."
    ]
    call_command("edition", "resume", str(first.issue_id), version="1", stdout=io.StringIO())
    assert listed() == NOTHING


def test_the_command_lists_stopped_transactional_mail(stopped) -> None:
    assert listed() == [
        f"issue {CONFIRMATION_ISSUE} version 1 “Confirmation mail”: needs attention. {REASON}"
    ]
    call_command("edition", "resume", str(CONFIRMATION_ISSUE), version="1", stdout=io.StringIO())
    assert listed() == NOTHING
