"""Fixtures for authors with browser windows, readers, an edition and a worker."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from delivery.models import Edition
from postmark_sandbox.server import SandboxServer
from publishing.publish.publish_edition import publish
from subscribers.models import Subscriber
from tests.delivery.conftest import provider
from tests.delivery.edition_factory import Newsroom
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter
from tests.subscribers.factories import SubscriberFactory

__all__ = ["provider"]


@pytest.fixture
def new_author(transactional_db: None) -> Callable[..., Any]:
    """Create a user who may sign in and, by default, publish."""

    def make(username: str = "edith", *permissions: str, **facts: Any) -> Any:
        author = get_user_model().objects.create_user(
            username=username, password="a long password", is_staff=True, **facts
        )
        for codename in permissions or ("publish_edition",):
            author.user_permissions.add(Permission.objects.get(codename=codename))
        return author

    return make


@pytest.fixture
def author(new_author: Callable[..., Any]) -> Any:
    """Create Edith Marlow, who may publish."""
    return new_author(first_name="Edith", last_name="Marlow")


@pytest.fixture
def window(author: Any) -> WindowOf:
    """Return a browser window in which the author is signed in."""
    return WindowOf(author)


@pytest.fixture
def three_readers(transactional_db: None) -> list[Subscriber]:
    """Create the confirmed readers Ada, Bram and Cleo."""
    return [
        SubscriberFactory(email=f"{name.lower()}@posthouse.example", name=name)
        for name in ("Ada", "Bram", "Cleo")
    ]


@pytest.fixture
def edition(author: Any, three_readers: list[Subscriber]) -> Edition:
    """Publish a letter to Ada, Bram and Cleo without a hold."""
    return publish(author.pk, "k", letter("On the patience of herons"), hold_s=0).edition


@pytest.fixture
def public_window(transactional_db: None) -> WindowOf:
    """Return a browser window without a signed-in user."""
    return WindowOf(None)


@pytest.fixture
def worker(transactional_db: None, provider: SandboxServer, settings: Any) -> Newsroom:
    """Return a newsroom whose worker sends to a Postmark sandbox."""
    settings.DELIVERY_HTTP_DEADLINE_S = 5.0
    settings.DELIVERY_LEASE_S = 5.0
    settings.DELIVERY_LOOKUP_AFTER_S = (60.0, 300.0, 900.0)
    return Newsroom()
