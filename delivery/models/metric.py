"""A tally: how often something happened, counted over all processes since the beginning."""

from __future__ import annotations

from django.db import models


class Tally(models.Model):
    """
    One row for each name and its labels. Values are only ever added
    (`delivery/monitoring/metrics_table.py`).

    For graphs and alerts. Nothing decides by it: a process that is killed takes its last seconds
    along, and one whose commit was not confirmed may count them twice.
    """

    pk = models.CompositePrimaryKey("name", "labels")
    name = models.CharField(max_length=80)
    labels = models.CharField(max_length=300, help_text="JSON, its names in order; {} for none.")
    value = models.FloatField(default=0, db_default=0)

    class Meta:
        db_table = "tally"
        verbose_name_plural = "tallies"

    def __str__(self) -> str:
        return f"{self.name}{self.labels}"
