"""What keeps the copies of an issue from being dropped, as it stands in the database."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from delivery.models import Delivery, Edition, ProviderEvent
from delivery.queue import provider_event
from publishing.content import Content
from publishing.dropping_copies import CopiesStayError, drop_copies, drop_old_copies
from publishing.publish import publish
from tests.delivery.newsroom import Newsroom
from tests.retention.told_of import told_of

pytestmark = pytest.mark.django_db(transaction=True)

MakeOlder = Callable[..., None]


def drop(edition: Edition) -> int:
    return sum(drop_copies(edition))


def lately() -> Edition:
    return Edition.objects.get(title="Lately")


class TestWhatWasTold:
    @pytest.mark.parametrize(("failures", "by_key"), [(0, True), (provider_event.TRIES, False)])
    def test_and_is_not_applied_yet_keeps_them(
        self, old: Edition, failures: int, by_key: bool, settings: Any
    ) -> None:
        copy = Delivery.objects.filter(issue=old.issue_id)[0]
        otherwise = {} if by_key else {"Metadata": {}, "Tag": f"issue-{old.issue_id.hex}"}
        event = provider_event.keep(told_of(copy, "Delivery", **otherwise))
        ProviderEvent.objects.update(failures=failures)

        with pytest.raises(CopiesStayError, match="could not be applied yet"):
            drop_copies(old)
        settings.DELIVERIES_KEEP_DAYS = 60
        assert sum(drop_old_copies()) == 0

        assert event is not None
        assert provider_event.apply(event)
        assert sum(drop_old_copies()) == 5


class TestTheNewestIssue:
    def test_is_the_last_that_reached_somebody_and_not_one_that_was_called_back(
        self, newsroom: Newsroom, old: Edition, make_older: MakeOlder
    ) -> None:
        called_back = newsroom.publish(title="Called back", hold_s=1000)
        call_command("edition", "call-back", str(called_back.issue_id), stdout=StringIO())
        make_older(100, "edition", "attempt", "delivery")
        with pytest.raises(CopiesStayError, match="newest issue"):
            drop_copies(lately())

    def test_keeps_all_its_versions(
        self, newsroom: Newsroom, old: Edition, make_older: MakeOlder
    ) -> None:
        first = lately()
        content = Content.written("Lately, put right", "<p>Words</p>", "")
        publish(newsroom.author.pk, "a-key", content, hold_s=0, issue=first.issue_id, version=2)
        newsroom.deliver_all()
        make_older(100, "edition", "attempt", "delivery")
        with pytest.raises(CopiesStayError, match="newest issue"):
            drop_copies(first)
        assert drop(old) == 5
