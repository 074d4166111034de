"""The problems of active workers, as sentences."""

from itertools import chain

from django.db import connection

from delivery.monitoring.worker_heartbeat import WorkerActivity, age_s, load_activity
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.reason import Reason


def load_warnings() -> list[str]:
    """Load the problems of active workers as sentences, each once."""
    with connection.cursor() as cursor:
        return problem_sentences(load_activity(cursor))


def problem_sentences(activity: WorkerActivity) -> list[str]:
    """Write each problem of active workers once; if only ages differ, the oldest."""
    found = sorted(chain(*activity.problems), key=age_s, reverse=True)
    once: dict[str, Reason] = {}
    for reason in found:
        once.setdefault(repr(reason.with_params(for_s=None)), reason)
    return [reason_sentence(reason) for reason in once.values()]
