"""Labels of tallies: one that does not fit would keep all counts of its process from the table."""

from __future__ import annotations

import pytest

from delivery.models import Tally
from delivery.tally import BEYOND, key_of
from newsletter_site.operating.catalogue import CATALOGUE
from tests.newsletter_site.every_address import every_address

ROUTES = [f"/{address.route}" for address in every_address()]
MOST = Tally._meta.get_field("labels").max_length


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)
def test_the_longest_labels_of_a_metric_fit_the_table(metric) -> None:
    labels = {
        name: max(ROUTES if name == "route" else map(str, values), key=len, default="")
        for name, values in metric.labels.items()
    }
    assert len(key_of(metric.name, labels | {"le": BEYOND})[1]) <= MOST
