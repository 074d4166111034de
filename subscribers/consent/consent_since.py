"""What the ledger of consent says of the time since something."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db.models import Count

from subscribers.models import ConsentRecord


def acts_since(at: datetime) -> Mapping[str, int]:
    """How many lines there are of each act since then; acts without any are left out."""
    lines = ConsentRecord.objects.filter(at__gte=at).order_by().values_list("act")
    return dict(lines.annotate(Count("id")))
