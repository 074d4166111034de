"""A fixture whose sites start once for a test module."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from delivery.models import MetricValue
from tests.deployment.served_site import ServedSite, served_site

Sites = Callable[..., ServedSite]


@pytest.fixture(scope="module")
def sites(database_url: str, django_db_blocker: Any) -> Iterator[Sites]:
    """Start sites with their own settings; clear their counters afterwards."""
    with ExitStack() as running:
        yield lambda **settings: running.enter_context(served_site(database_url, **settings))
    with django_db_blocker.unblock():
        MetricValue.objects.all().delete()
