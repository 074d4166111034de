"""The counters and histograms of /metrics, added up over all processes."""

from django.db import models


class MetricValue(models.Model):
    """One row for each name and its labels. Values are only ever added. A killed process loses its
    last seconds; one with an unconfirmed commit may count them twice."""

    pk = models.CompositePrimaryKey("name", "labels")
    name = models.CharField(max_length=80)
    labels = models.CharField(max_length=300, help_text="JSON, its names in order; {} for none.")
    value = models.FloatField(default=0, db_default=0)

    class Meta:
        db_table = "metric_value"

    def __str__(self) -> str:
        return f"{self.name}{self.labels}"
