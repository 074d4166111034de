"""A fixture that publishes issues for the tests of the desk."""

from collections.abc import Callable
from typing import Any

import pytest

from delivery.models import Edition
from tests.publishing.content_factory import letter
from tests.publishing.publish_with import publish


@pytest.fixture
def publish_one(author: Any) -> Callable[..., Edition]:
    """Publish a letter with this title without a hold."""

    def make(title: str = "Herons", **how: Any) -> Edition:
        return publish(
            author.pk, f"key-{title}", letter(title), hold_s=how.pop("hold_s", 0), **how
        ).edition

    return make
