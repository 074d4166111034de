"""Where something waits for a person, the desk and the commands say so, mail on request too."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from delivery.mail.transactional_mail import CONFIRMATION_ISSUE
from delivery.models import Edition
from delivery.queue.control import stop
from delivery.queue.enqueue_transactional import request_mail
from publishing.editions.versions import VersionRefusedError
from publishing.models import Issue
from publishing.publish.publish import publish
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.publishing.content_factory import letter
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

REASON = "Postmark has not approved the account."
NOTHING = ["Nothing waits for a person."]


@pytest.fixture
def stopped():
    """The edition of first confirmations, stopped by a fault of the account."""
    Issue.objects.get_or_create(
        pk=CONFIRMATION_ISSUE, defaults={"title": "Confirmation mail", "slug": "confirmation-mail"}
    )
    reader = SubscriberFactory(state="pending")
    with transaction.atomic(), connection.cursor() as cursor:
        request_mail("confirmation", 1, [(reader.pk, reader.email)], ahead=True)
        edition = Edition.objects.get(issue=CONFIRMATION_ISSUE)
        stop(cursor, edition.pk, because(REASON))
    return edition


def test_the_list_of_issues_says_why_confirmations_are_stopped_and_lets_them_go_on(window, stopped):
    page = window.get("/admin/newsletters/issues/").html
    assert REASON in page
    assert f"/admin/newsletters/{CONFIRMATION_ISSUE}/resume/?version=1" in page

    window.post(f"/admin/newsletters/{CONFIRMATION_ISSUE}/resume/?version=1")

    stopped.refresh_from_db()
    assert stopped.control == "running"
    assert REASON not in window.get("/admin/newsletters/issues/").words


def test_nobody_is_led_to_write_a_version_of_it(window, stopped, author):
    of_an_issue = publish(author.pk, "k", letter("Herons"), hold_s=0).edition.issue_id
    way = "/admin/newsletters/write/?issue="

    assert f'href="{way}{of_an_issue}"' in window.get(f"/admin/newsletters/{of_an_issue}/").html
    page = window.get(f"/admin/newsletters/{CONFIRMATION_ISSUE}/")

    assert page.status == 200
    assert way not in page.html
    # The archive never has it, and it can be neither listed there nor taken out.
    assert "See it in the archive" not in page.words
    assert "/listing/" not in page.html
    with pytest.raises(VersionRefusedError):
        publish(author.pk, "k2", letter("Herons"), hold_s=0, issue=CONFIRMATION_ISSUE, version=2)


@pytest.mark.parametrize("action", ["cancel", "close", "call-back", "send-now"])
def test_what_would_end_it_is_refused_with_a_sentence(stopped, action):
    with pytest.raises(CommandError, match="never ends"):
        call_command("edition", action, str(CONFIRMATION_ISSUE))


def test_it_is_not_in_the_archive(client, stopped):
    Edition.objects.filter(pk=stopped.pk).update(control="running")
    assert "Confirm" not in client.get("/archive/", secure=True).content.decode()
    slug = Issue.objects.get(pk=CONFIRMATION_ISSUE).slug
    assert client.get(f"/archive/{slug}/", secure=True).status_code == 404


def listed() -> list[str]:
    out = io.StringIO()
    call_command("attention", stdout=out)
    return out.getvalue().splitlines()


def test_an_issue_that_stopped_is_listed_by_the_version_that_did() -> None:
    newsroom = Newsroom()
    assert listed() == NOTHING
    first = newsroom.publish(1, title="Swifts, {{ name|reader }}")
    assert listed() == NOTHING  # it goes out by itself
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


def test_mail_on_request_that_stopped_is_listed_and_resumed_by_that_name(stopped) -> None:
    assert listed() == [
        f"issue {CONFIRMATION_ISSUE} version 1 “Confirmation mail”: needs attention. {REASON}"
    ]
    call_command("edition", "resume", str(CONFIRMATION_ISSUE), version="1", stdout=io.StringIO())
    assert listed() == NOTHING
