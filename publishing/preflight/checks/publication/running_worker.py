"""Check that a worker is running. Pure."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, Texts, advice, passed

_NO_WORKER = _("No worker is running")

TEXTS: Texts = {
    "worker_running": FindingText(_("A worker is running.")),
    "no_worker": FindingText(
        _NO_WORKER,
        _("The issue is sent only when a worker runs. Start one with ./homing deliver."),
    ),
    "worker_stopped": FindingText(
        _NO_WORKER,
        _(
            "Last heartbeat: {at}. The issue is sent only when a worker runs. Start one with "
            "./homing deliver."
        ),
    ),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find out whether a worker would send the issue now."""
    if not context.is_mailed:
        return
    if context.worker_is_running:
        yield passed("worker_running")
    elif context.worker_seen_at:
        yield advice("worker_stopped", at=context.worker_seen_at)
    else:
        yield advice("no_worker")
