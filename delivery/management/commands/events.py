"""`manage.py events`: provider events that could not be applied."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from delivery.feedback.event_inbox import failed_events


class Command(BaseCommand):
    """Lists failed events, or has them tried again."""

    help = (
        "List the provider's events that could not be applied; the log says why. With --again "
        "workers try them again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--again", action="store_true", help="have all of them tried again")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["again"]:
            self.stdout.write(f"{failed_events().update(failures=0)} events are tried again.")
            return
        events = failed_events().order_by("id").values_list("id", "kind", "received_at")
        for number, kind, received_at in events:
            received = f"received {received_at:%Y-%m-%d %H:%M} UTC"
            self.stdout.write(f"event {number}  {kind or 'of unknown type'}  {received}")
        if not events:
            self.stdout.write("No event has failed.")
