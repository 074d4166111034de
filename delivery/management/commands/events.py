"""`manage.py events`: provider events that could not be applied."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from delivery.feedback.event_inbox import failed_events
from delivery.humanise import counted


class Command(BaseCommand):
    """List failed events, or queue them for another try."""

    help = _(
        "List the provider's events that could not be applied. The log shows each error. With "
        "--again workers try them again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--again", action="store_true", help=_("try all of them again"))

    def handle(self, *args: Any, **options: Any) -> None:
        if options["again"]:
            queued = counted(
                "{n} event is queued for another try.",
                "{n} events are queued for another try.",
                failed_events().update(failures=0),
            )
            self.stdout.write(queued)
            return
        events = failed_events().order_by("id").values_list("id", "kind", "received_at")
        for number, kind, received_at in events:
            line = _("event {number}  {kind}  received {time} UTC").format(
                number=number,
                kind=kind or _("unknown type"),
                time=f"{received_at:%Y-%m-%d %H:%M}",
            )
            self.stdout.write(line)
        if not events:
            self.stdout.write(_("No event has failed."))
