"""An errand: something that is asked of the provider now and then, by one worker at a time."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Errand(models.Model):
    """
    One row an errand. Whoever does it holds its lease, and a worker that is lost loses only that.

    `through_at` is up to when it has asked: the beginning of the last time that it went well.
    """

    name = models.CharField(primary_key=True, max_length=120)
    due_at = models.DateTimeField(db_default=Now())
    owner = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    through_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0, db_default=0)
    said = models.TextField(blank=True, default="", db_default="", help_text="Why it failed last.")

    class Meta:
        db_table = "errand"
        constraints = [
            models.CheckConstraint(
                name="an_errand_is_held_with_a_lease",
                condition=Q(owner__isnull=True, lease_until__isnull=True)
                | Q(owner__isnull=False, lease_until__isnull=False, started_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return self.name
