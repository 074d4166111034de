"""Check that a worker is running."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice, passed


def check(context: CheckContext) -> Iterator[Finding]:
    """Report whether a worker is running that would send the issue now."""
    if not context.is_mailed:
        return
    if context.worker_is_running:
        yield passed(_("A worker is running."))
    elif context.worker_seen_at:
        yield advice(
            _("No worker is running"),
            _(
                "Last heartbeat: {at}. The issue is sent only when a worker runs. Start one with "
                "./homing deliver."
            ),
            at=context.clock(context.worker_seen_at),
        )
    else:
        yield advice(
            _("No worker is running"),
            _("The issue is sent only when a worker runs. Start one with ./homing deliver."),
        )
