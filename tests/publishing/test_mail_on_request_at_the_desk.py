"""Mail on request is no issue; where it waits for a person, the desk and the commands say so."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from delivery.mail_on_request import CONFIRMATION_ISSUE
from delivery.models import Edition
from delivery.queue.control import stop
from delivery.queue.mail_on_request import request_mail
from publishing.models import Issue
from publishing.publish import publish
from publishing.versions import VersionRefusedError
from tests.publishing.letters import letter
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)


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
        stop(cursor, edition.pk, "Postmark has not approved the account.")
    return edition


def test_the_list_of_issues_says_why_confirmations_are_stopped_and_lets_them_go_on(window, stopped):
    reason = "Postmark has not approved the account."
    page = window.get("/admin/newsletters/issues/").html
    assert reason in page
    assert f"/admin/newsletters/{CONFIRMATION_ISSUE}/resume/?version=1" in page

    window.post(f"/admin/newsletters/{CONFIRMATION_ISSUE}/resume/?version=1")

    stopped.refresh_from_db()
    assert stopped.control == "running"
    assert reason not in window.get("/admin/newsletters/issues/").words


def test_nobody_is_led_to_write_a_version_of_it(window, stopped, author):
    of_an_issue = publish(author.pk, "k", letter("Herons"), hold_s=0).edition.issue_id
    way = "/admin/newsletters/write/?issue="

    assert f'href="{way}{of_an_issue}"' in window.get(f"/admin/newsletters/{of_an_issue}/").html
    page = window.get(f"/admin/newsletters/{CONFIRMATION_ISSUE}/")

    assert page.status == 200
    assert way not in page.html
    # The archive never has it, and it can be neither listed there nor taken out.
    assert 'data-shown="archive" hidden>' in page.html
    assert "/listing/" not in page.html
    with pytest.raises(VersionRefusedError):
        publish(author.pk, "k2", letter("Herons"), hold_s=0, issue=CONFIRMATION_ISSUE, version=2)


@pytest.mark.parametrize("action", ["cancel", "close", "call-back", "send-now"])
def test_what_would_end_it_is_refused_with_a_sentence(stopped, action):
    with pytest.raises(CommandError):
        call_command("edition", action, str(CONFIRMATION_ISSUE))


def test_it_is_not_in_the_archive(client, stopped):
    Edition.objects.filter(pk=stopped.pk).update(control="running")
    assert "Confirm" not in client.get("/archive/", secure=True).content.decode()
    slug = Issue.objects.get(pk=CONFIRMATION_ISSUE).slug
    assert client.get(f"/archive/{slug}/", secure=True).status_code == 404
