"""Factories of valid readers, suppressions and imports."""

from datetime import UTC, datetime
from typing import Any

import factory
from factory.django import DjangoModelFactory

from subscribers.models import Subscriber, SubscriberImport, Suppression

SOME_DAY = datetime(2026, 3, 12, 7, 0, tzinfo=UTC)


class SubscriberFactory(DjangoModelFactory[Subscriber]):
    """A confirmed reader; `state=…` also sets the times of that state."""

    class Meta:
        model = Subscriber

    email = factory.Sequence(lambda n: f"reader{n}@posthouse.example.org")
    name = "Ada Whitlock"
    state = Subscriber.State.CONFIRMED

    @factory.lazy_attribute
    def confirmed_at(self) -> datetime | None:
        return None if self.state == Subscriber.State.PENDING else SOME_DAY

    @factory.lazy_attribute
    def unsubscribed_at(self) -> datetime | None:
        return SOME_DAY if self.state == Subscriber.State.UNSUBSCRIBED else None


class SuppressionFactory(DjangoModelFactory[Suppression]):
    """An address that bounced."""

    class Meta:
        model = Suppression

    address_key = factory.Sequence(lambda n: f"shut.out{n}@posthouse.example.org")
    reason = Suppression.Reason.BOUNCE
    origin = Suppression.Origin.PROVIDER


class SubscriberImportFactory(DjangoModelFactory[SubscriberImport]):
    """A finished import of an empty list."""

    class Meta:
        model = SubscriberImport

    content_hash = factory.Sequence(lambda n: n.to_bytes(32, "big"))
    filename = "readers.csv"
    confirmed = True
    state = "finished"
    requested_at = SOME_DAY
    finished_at = SOME_DAY


def the_list() -> dict[str, Any]:
    """Map addresses on the list to names and states."""
    return {
        email: (name, state)
        for email, name, state in Subscriber.objects.values_list("email", "name", "state")
    }


def state_of(reader: Subscriber) -> str:
    """Read a reader again from the database, and return its state."""
    reader.refresh_from_db()
    return reader.state
