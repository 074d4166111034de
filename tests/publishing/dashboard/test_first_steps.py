"""The first steps lead a new author to the first issue, and then disappear."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from delivery.interface import capabilities
from delivery.models import Newsletter, ProviderEvent
from publishing.dashboard.first_steps import (
    OF_SETTINGS,
    OF_WRITERS,
    Step,
    choose_steps,
    load_first_steps,
)
from publishing.models import Draft
from publishing.test_letters.send_test_letter import send_test
from tests.delivery.edition_factory import Newsroom
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter
from tests.subscribers.factories import SubscriberFactory

DESK = "/admin/newsletters/issues/"
ALL = frozenset(Step)


@pytest.mark.parametrize(
    ("may", "done", "shown"),
    [
        (ALL, (), list(Step)),
        (OF_WRITERS, (), [Step.LETTER, Step.TEST]),
        (OF_WRITERS, OF_WRITERS, []),
        (OF_SETTINGS, OF_SETTINGS - {Step.LOOK}, []),
        (OF_SETTINGS, OF_SETTINGS - {Step.NAME, Step.LOOK}, sorted(OF_SETTINGS, key=[*Step].index)),
        ((), (), []),
    ],
)
def test_steps_are_shown_while_a_required_one_is_open(may, done, shown):
    steps = choose_steps(may, done)
    assert [step for step, _ in steps] == shown
    assert {step for step, is_done in steps if is_done} == (set(done) if shown else set())


@pytest.fixture
def steps(transactional_db):
    """Return a function that loads the steps and returns the finished ones."""

    def load(**facts):
        given = {"readers": 0, "has_issue": False, "has_sent": False, **facts}
        found = load_first_steps(Newsletter.objects.get_current(), ALL, **given)
        return {step.value for step, is_done in found.steps if is_done}

    return load


def test_each_step_is_done_by_the_data(steps, author, provider, settings):
    settings.DELIVERY_HTTP_DEADLINE_S = settings.DELIVERY_LEASE_S = 5.0
    newsroom = Newsroom()
    assert steps() == set()
    assert steps(readers=1) == {"readers"}
    Draft.objects.create(title="Swifts", saved_by=author)
    # Without `trace`, the event was found by polling, not reported by the webhook.
    ProviderEvent.objects.create(body_hash=b"1", kind="Delivery", body=b"")
    assert steps() == {"letter"}
    ProviderEvent.objects.create(body_hash=b"2", kind="Delivery", body=b"", trace="a webhook")
    send_test(author.pk, letter("Swifts"), "ada@tides.example", sender="other@tides.example")
    newsroom.deliver_all()
    assert steps() == {"letter", "webhook"}
    send_test(author.pk, letter("Swifts"), "ada@tides.example")
    newsroom.deliver_all()
    assert steps() == {"letter", "webhook", "test", "sender"}
    Newsletter.objects.update(name="Tides", accent="#102030")
    assert steps() == {"letter", "webhook", "test", "sender", "name", "look"}


def test_a_site_that_sent_an_issue_asks_nothing(steps):
    Newsletter.objects.update_or_create(pk=1, defaults={"name": "Tides"})
    newsletter = Newsletter.objects.get_current()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = load_first_steps(newsletter, ALL, readers=0, has_issue=True, has_sent=True)
    assert (found.steps, len(queries)) == ((), 0)
    # The issue was sent to nobody, so the sender is not confirmed. No test letter was sent either.
    assert steps(has_issue=True) == {"name", "letter", "issue"}


def test_the_desk_shows_a_user_their_own_steps(new_author, settings):
    settings.POSTMARK_WEBHOOK_USER = settings.POSTMARK_WEBHOOK_PASSWORD = ""
    operator = WindowOf(new_author("ola", "change_newsletter", "operate_sending"))
    words = operator.get(DESK).words
    assert "Choose the sender" in words
    assert "An operator must set POSTMARK_WEBHOOK_USER" in words
    assert "Publish your first issue" not in words

    settings.POSTMARK_WEBHOOK_USER = settings.POSTMARK_WEBHOOK_PASSWORD = "a long password"
    address = "https://USER:PASSWORD@letter.example.org/webhooks/postmark/"
    assert address in operator.get(DESK).words
    events = ", ".join(capabilities().webhook_events.values())
    assert f"for these events: {events}." in operator.get(DESK).words

    SubscriberFactory()
    publisher = WindowOf(new_author("edith", "publish_edition", "manage_readers"))
    page = publisher.get(DESK)
    assert "Bring readers Done" in page.words
    assert "Choose the sender" not in page.words
    assert "First steps" not in WindowOf(new_author("lou", "view_issue")).get(DESK).words
