"""Tallies and gauges in Prometheus' text format. Pure; the format itself is prometheus-client's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from delivery.monitoring.metrics_buffer import BUCKET, INFINITY, SUM
from newsletter_site.operations.metrics.gauges import Sample
from newsletter_site.operations.metrics.metrics_catalogue import CATALOGUE, Metric, MetricType

# By name, the values with their labels: as `delivery.monitoring.metrics_table` reads them.
Tallied = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]


# Tallies go back with the database that they stand in. Prometheus takes a counter that falls for
# one that began anew, and would count all of it again: under another name it is another series.
DATABASE = "database"


def exposition(tallied: Tallied, gauges: Iterable[Sample], *, database: str) -> bytes:
    """
    The whole answer. What is tallied under a name that is not in the catalogue is left out.
    `database` is the name of the one that the tallies stand in, a label of each of them.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_All(tallied, list(gauges), database))
    return generate_latest(registry)


class _All(Collector):
    """The collector that prometheus-client asks."""

    def __init__(self, tallied: Tallied, gauges: Sequence[Sample], database: str) -> None:
        self._tallied = tallied
        self._gauges = gauges
        self._database = database

    def collect(self) -> Iterator[Family]:
        for metric in CATALOGUE:
            match metric.kind:
                case MetricType.COUNTER:
                    yield _counter(metric, self._tallied.get(metric.name, ()), self._database)
                case MetricType.HISTOGRAM:
                    yield _histogram(
                        metric,
                        self._tallied.get(metric.name + BUCKET, ()),
                        self._tallied.get(metric.name + SUM, ()),
                        self._database,
                    )
                case MetricType.GAUGE:
                    yield _gauge(metric, [one for one in self._gauges if one.name == metric.name])


def _counter(
    metric: Metric, tallied: Sequence[tuple[Mapping[str, str], float]], database: str
) -> Family:
    family = CounterMetricFamily(metric.name, metric.help, labels=[*metric.labels, DATABASE])
    values = dict.fromkeys(_known(metric), 0.0)
    for labels, value in tallied:
        values[_in_order(metric, labels)] = value
        if metric.beside is not None:
            label, known = metric.beside
            values.setdefault(_in_order(metric, {**labels, label: known}), 0.0)
    for labels_in_order, value in values.items():
        family.add_metric([*labels_in_order, database], value)
    return family


def _gauge(metric: Metric, samples: Sequence[Sample]) -> Family:
    family = GaugeMetricFamily(metric.name, metric.help, labels=list(metric.labels))
    for sample in samples:
        family.add_metric(_in_order(metric, sample.labels), sample.value)
    return family


def _histogram(
    metric: Metric,
    buckets: Sequence[tuple[Mapping[str, str], float]],
    sums: Sequence[tuple[Mapping[str, str], float]],
    database: str,
) -> Family:
    """Tallied is how many fell into each bucket; Prometheus wants how many were at most as long."""
    bounds = [*(f"{bound:g}" for bound in metric.bounds_s), INFINITY]
    fell: dict[tuple[str, ...], dict[str, float]] = {labels: {} for labels in _known(metric)}
    for labels, value in buckets:
        fell.setdefault(_in_order(metric, labels), {})[labels.get("le", INFINITY)] = value
    took = {_in_order(metric, labels): value for labels, value in sums}
    family = HistogramMetricFamily(metric.name, metric.help, labels=[*metric.labels, DATABASE])
    for labels_in_order, by_bound in fell.items():
        # A bound that an earlier version had counts under the next one that there is now.
        cumulated = [
            (
                bound,
                sum(number for le, number in by_bound.items() if float(le) <= float(bound)),
            )
            for bound in bounds
        ]
        took_s = took.get(labels_in_order, 0.0)
        family.add_metric([*labels_in_order, database], cumulated, took_s)
    return family


def _known(metric: Metric) -> list[tuple[str, ...]]:
    """Every combination of labels that is named beforehand; none where one of them is not."""
    return list(product(*metric.labels.values()))


def _in_order(metric: Metric, labels: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(labels.get(name, "") for name in metric.labels)
