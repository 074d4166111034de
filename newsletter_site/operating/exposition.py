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

from delivery.tally import BEYOND, BUCKET, SUM
from newsletter_site.operating.catalogue import CATALOGUE, Kind, Metric
from newsletter_site.operating.gauges import Sample

# By name, the values with their labels: as `delivery.queue.tally` reads them.
Tallied = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]


def exposition(tallied: Tallied, gauges: Iterable[Sample]) -> bytes:
    """The whole answer. What is tallied under a name that is not in the catalogue is left out."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_All(tallied, list(gauges)))
    return generate_latest(registry)


class _All(Collector):
    """The collector that prometheus-client asks."""

    def __init__(self, tallied: Tallied, gauges: Sequence[Sample]) -> None:
        self._tallied = tallied
        self._gauges = gauges

    def collect(self) -> Iterator[Family]:
        for metric in CATALOGUE:
            match metric.kind:
                case Kind.COUNTER:
                    yield _counter(metric, self._tallied.get(metric.name, ()))
                case Kind.HISTOGRAM:
                    yield _histogram(
                        metric,
                        self._tallied.get(metric.name + BUCKET, ()),
                        self._tallied.get(metric.name + SUM, ()),
                    )
                case Kind.GAUGE:
                    yield _gauge(metric, [one for one in self._gauges if one.name == metric.name])


def _counter(metric: Metric, tallied: Sequence[tuple[Mapping[str, str], float]]) -> Family:
    family = CounterMetricFamily(metric.name, metric.help, labels=list(metric.labels))
    values = dict.fromkeys(_known(metric), 0.0)
    for labels, value in tallied:
        values[_in_order(metric, labels)] = value
        if metric.beside is not None:
            label, known = metric.beside
            values.setdefault(_in_order(metric, {**labels, label: known}), 0.0)
    for labels_in_order, value in values.items():
        family.add_metric(labels_in_order, value)
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
) -> Family:
    """Tallied is how many fell into each bucket; Prometheus wants how many were at most as long."""
    bounds = [*(f"{bound:g}" for bound in metric.bounds_s), BEYOND]
    fell: dict[tuple[str, ...], dict[str, float]] = {labels: {} for labels in _known(metric)}
    for labels, value in buckets:
        fell.setdefault(_in_order(metric, labels), {})[labels.get("le", BEYOND)] = value
    took = {_in_order(metric, labels): value for labels, value in sums}
    family = HistogramMetricFamily(metric.name, metric.help, labels=list(metric.labels))
    for labels_in_order, by_bound in fell.items():
        # A bound that an earlier version had counts under the next one that there is now.
        cumulated = [
            (
                bound,
                sum(number for le, number in by_bound.items() if float(le) <= float(bound)),
            )
            for bound in bounds
        ]
        family.add_metric(labels_in_order, cumulated, took.get(labels_in_order, 0.0))
    return family


def _known(metric: Metric) -> list[tuple[str, ...]]:
    """Every combination of labels that is named beforehand; none where one of them is not."""
    return list(product(*metric.labels.values()))


def _in_order(metric: Metric, labels: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(labels.get(name, "") for name in metric.labels)
