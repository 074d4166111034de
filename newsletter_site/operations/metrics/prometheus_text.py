"""Write the metrics in Prometheus' text format, with prometheus-client."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from delivery.monitoring.metrics_storage import BUCKET, INFINITY, SUM
from newsletter_site.operations.metrics.metrics_catalogue import CATALOGUE, Metric, Reading

# Values with their labels, as `delivery.monitoring.metrics_storage` loads them.
Labelled = Sequence[tuple[Mapping[str, str], float]]

# The label that names the database of a counter. A restored backup has lower counters, so the
# restored database gets a new value of this label. With a new value of the label, the counters
# become new series, and Prometheus sees no reset of the old series.
DATABASE = "database"


def exposition(
    counters: Mapping[str, Labelled], gauges: Mapping[str, Reading], *, database: str
) -> bytes:
    """Write all metrics.

    `database` names the database in which the counters are stored.
    """
    families: list[Family] = []
    for metric in CATALOGUE:
        match metric.kind:
            case "counter":
                families.append(_counter(metric, counters.get(metric.name, ()), database))
            case "histogram":
                buckets = counters.get(metric.name + BUCKET, ())
                sums = counters.get(metric.name + SUM, ())
                families.append(_histogram(metric, buckets, sums, database))
            case "gauge":
                families.append(_gauge(metric, gauges.get(metric.name)))
    return generate_latest(_Families(families))


@dataclass(eq=False)
class _Families(Collector):
    _families: list[Family]

    def collect(self) -> list[Family]:
        return self._families


def _counter(metric: Metric, counted: Labelled, database: str) -> Family:
    family = CounterMetricFamily(metric.name, metric.help, labels=[*metric.labels, DATABASE])
    values = dict.fromkeys(_known(metric), 0.0)
    for labels, value in counted:
        values[_in_order(metric, labels)] = value
        if metric.beside is not None:
            label, known = metric.beside
            values.setdefault(_in_order(metric, {**labels, label: known}), 0.0)
    for labels_in_order, value in values.items():
        family.add_metric([*labels_in_order, database], value)
    return family


def _gauge(metric: Metric, found: Reading) -> Family:
    """Build a gauge. A known label value without a reading counts as 0."""
    family = GaugeMetricFamily(metric.name, metric.help, labels=list(metric.labels))
    if isinstance(found, Mapping):
        values: dict[tuple[str, ...], float] = dict.fromkeys(_known(metric), 0.0)
        values |= {(key,) if isinstance(key, str) else key: value for key, value in found.items()}
        for labels_in_order, value in values.items():
            family.add_metric(list(labels_in_order), float(value))
    elif found is not None:
        family.add_metric([], float(found))
    return family


def _histogram(metric: Metric, buckets: Labelled, sums: Labelled, database: str) -> Family:
    """Build a histogram.

    Each stored bucket has only its own count, but Prometheus needs cumulative counts.
    """
    bounds = [*(f"{bound:g}" for bound in metric.bounds_s), INFINITY]
    counts: dict[tuple[str, ...], dict[str, float]] = {labels: {} for labels in _known(metric)}
    for labels, value in buckets:
        counts.setdefault(_in_order(metric, labels), {})[labels.get("le", INFINITY)] = value
    seconds = {_in_order(metric, labels): value for labels, value in sums}
    family = HistogramMetricFamily(metric.name, metric.help, labels=[*metric.labels, DATABASE])
    for labels_in_order, by_bound in counts.items():
        # An earlier version of Homing may have counted under bounds that no longer exist. Such
        # counts belong to the next larger bound.
        added_up = [
            (bound, sum(count for le, count in by_bound.items() if float(le) <= float(bound)))
            for bound in bounds
        ]
        family.add_metric([*labels_in_order, database], added_up, seconds.get(labels_in_order, 0.0))
    return family


def _known(metric: Metric) -> list[tuple[str, ...]]:
    return list(product(*metric.labels.values()))


def _in_order(metric: Metric, labels: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(labels.get(name, "") for name in metric.labels)
