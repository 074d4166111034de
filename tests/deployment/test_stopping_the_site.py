"""The site stopped in order, as at every deployment."""

from __future__ import annotations

import json

import pytest

from delivery.models import Tally
from newsletter_site.operating.counting import REQUESTS
from tests.deployment.served_site import served_site


@pytest.mark.django_db(transaction=True)
def test_what_was_counted_last_is_in_the_table(database_url: str) -> None:
    with served_site(database_url) as site:
        assert site.get("/archive/").status_code == 200
    [counted] = Tally.objects.filter(name=REQUESTS)
    assert (json.loads(counted.labels)["route"], counted.value) == ("/archive/", 1)
