"""Fixtures for the tests of retention: an author, a provider, and older rows."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from delivery.models import Edition, ProviderEvent
from postmark_sandbox.server import SandboxServer
from publishing.models import ExternalCheck, UploadedImage
from tests.delivery.conftest import newsroom, provider, small_batches
from tests.delivery.edition_factory import Newsroom
from tests.publishing.conftest import author, new_author, window

__all__ = ["author", "new_author", "newsroom", "provider", "small_batches", "window"]

# For each table, the columns of time that show how old a row is.
AGES = {
    "api_token": ("created_at", "expires_at"),
    "invitation": ("sent_at", "expires_at"),
    "attempt": ("started_at", "deadline_at", "finished_at"),
    "axes_accessattempt": ("attempt_time",),
    "consent_record": ("at",),
    "delivery": ("sent_at",),
    "django_session": ("expire_date",),
    "edition": ("published_at", "held_until", "control_at"),
    "periodic_task": ("due_at",),
    "idempotency": ("created_at",),
    "external_check": ("looked_at",),
    "uploaded_image": ("uploaded_at", "unused_since"),
    "provider_event": ("received_at",),
    "subscriber": ("created_at",),
    "subscriber_import": ("requested_at", "checked_at", "finished_at"),
    "worker": ("heard_at",),
}


def one_of_three_kinds(newsroom: Newsroom) -> None:
    """Create an applied event, an unused image and the stored check of a link."""
    ProviderEvent.objects.create(body_hash=b"1", kind="Open", body=b"{}", applied_at=timezone.now())
    UploadedImage.objects.create(
        sha256=b"unused",
        name="Swifts",
        content_type="image/png",
        width=1,
        height=1,
        content=b"1",
        unused_since=timezone.now(),
    )
    ExternalCheck.objects.create(kind="link", subject="https://example.net/", found={})


@pytest.fixture
def make_older(transactional_db: None) -> Callable[..., None]:
    """Move the times of some or all tables into the past."""

    def move(days: float, *tables: str) -> None:
        with connection.cursor() as cursor:
            for table in tables or AGES:
                moved = ", ".join(f"{at} = {at} - interval '{days} days'" for at in AGES[table])
                cursor.execute(f"UPDATE {table} SET {moved}")

    return move


@pytest.fixture
def old(
    newsroom: Newsroom,
    provider: SandboxServer,
    small_batches: None,
    make_older: Callable[..., None],
) -> Edition:
    """Publish an issue that was sent to five readers long ago and is not the newest."""
    newsroom.confirm(5)
    edition = newsroom.publish(title="Long ago")
    newsroom.deliver_all()
    newsroom.publish(title="Lately")
    newsroom.deliver_all()
    make_older(100, "edition", "attempt", "delivery")
    edition.refresh_from_db()
    return edition


@pytest.fixture
def onlooker(database_url: str, transactional_db: None) -> Iterator[psycopg.Connection[Any]]:
    """Open a separate connection that can hold locks."""
    with psycopg.connect(database_url, autocommit=True) as db:
        yield db
