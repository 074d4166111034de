"""`manage.py run_task NAME OWNER`: the process of a separate task."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from delivery.tasks.separate_process import run_here


class Command(BaseCommand):
    """Do the due work of a separate task. Workers start it."""

    help = _("Do one kind of background work in a separate process. Workers start this command.")
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help=_("the kind of work"))
        parser.add_argument("owner", metavar="OWNER", type=UUID, help=_("the id of the claims"))

    def handle(self, *args: Any, **options: Any) -> None:
        run_here(options["name"], options["owner"])
