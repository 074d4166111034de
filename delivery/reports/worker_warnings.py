"""The problems of active workers, as sentences."""

from django.db import connection

from delivery.monitoring.worker_heartbeat import WorkerActivity, load_activity
from delivery.reports.reason_sentences import reason_sentence


def load_warnings() -> list[str]:
    """Load the problems of active workers as sentences, each once."""
    with connection.cursor() as cursor:
        return problem_sentences(load_activity(cursor))


def problem_sentences(activity: WorkerActivity) -> list[str]:
    """Write the problems of active workers, each once."""
    found = (reason_sentence(reason) for problems in activity.problems for reason in problems)
    return list(dict.fromkeys(found))
