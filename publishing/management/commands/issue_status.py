"""`manage.py issue_status`: print the status of an issue as JSON."""

import json
from typing import Any

from django.utils.translation import gettext as _

from publishing.editions.edition_status import load_status
from publishing.management.command_bases import EditionCommand


class Command(EditionCommand):
    help = _("Print the state and the counts of an issue's newest edition, or of a named version.")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(json.dumps(load_status(self.edition(options).pk).as_json()))
