"""The problems that running workers found when they started."""

from delivery.monitoring.worker_heartbeat import active_workers
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.reason import Reason


def load_warnings() -> list[str]:
    """Load the warnings of active workers as sentences, each once."""
    warned = active_workers().exclude(warning="").order_by("warning")
    stored = warned.values_list("warning", flat=True).distinct()
    return [reason_sentence(Reason.loads(text)) for text in stored]
