"""`manage.py receipt`: print the signed receipt of an issue as JSON."""

from typing import Any

from django.utils.translation import gettext as _

from publishing.management.command_bases import EditionCommand
from publishing.receipts.make_receipt import NoReceiptError, receipt_as_json, receipt_of
from subscribers.management.command_options import as_command_error


class Command(EditionCommand):
    help = _(
        "Print the signed receipt of an issue's newest edition, or of a named version, as JSON."
    )

    @as_command_error(NoReceiptError)
    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(receipt_as_json(receipt_of(self.edition(options))))
