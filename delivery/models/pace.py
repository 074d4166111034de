"""The pace that all workers share: when the next batch may be claimed."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Pace(models.Model):
    """One row. Only used while `DELIVERY_RATE_PER_S` sets a ceiling."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    next_claim_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "pace"
        constraints = [models.CheckConstraint(name="there_is_one_pace", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"next claim at {self.next_claim_at}"
