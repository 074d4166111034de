"""The counters of delivery and their names. docs/metrics.md says what each is good for."""

from collections.abc import Mapping

from delivery.monitoring.metrics_storage import Histogram, add_on_commit, metrics_buffer

DELIVERIES = "homing_deliveries_total"
CALLS = "homing_calls_total"
CALL_SECONDS = Histogram(
    "homing_call_duration_seconds", (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
)
PHASE_SECONDS = "homing_worker_phase_seconds_total"
PHASE_CPU_SECONDS = "homing_worker_phase_cpu_seconds_total"
RATE_LIMITED = "homing_calls_rate_limited_total"
LOOKUPS = "homing_lookups_total"
LEASES_RECOVERED = "homing_leases_recovered_total"
ALARMS = "homing_alarms_total"


def count_deliveries(by_outcome: Mapping[str, int]) -> None:
    """Deliveries got an outcome; counted once the transaction is committed."""
    for outcome, number in by_outcome.items():
        add_on_commit(DELIVERIES, number, outcome=outcome)


def observe_call(result: str, seconds: float) -> None:
    """A call ended."""
    metrics_buffer.add(CALLS, result=result)
    metrics_buffer.observe(CALL_SECONDS, seconds)


def observe_phase(name: str, seconds: float, cpu_seconds: float) -> None:
    """A phase of a step ended, which took CPU time of this thread."""
    metrics_buffer.add(PHASE_SECONDS, seconds, phase=name)
    metrics_buffer.add(PHASE_CPU_SECONDS, cpu_seconds, phase=name)
