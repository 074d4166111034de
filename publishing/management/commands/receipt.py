"""`manage.py receipt`: print the signed receipt of an issue as JSON."""

from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from publishing.management.command_bases import EditionCommand
from publishing.receipts.make_receipt import NoReceiptError, receipt_as_json, receipt_of


class Command(EditionCommand):
    help = _(
        "Print the signed receipt of an issue's newest edition, or of a named version, as JSON."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            receipt = receipt_of(self.edition(options))
        except NoReceiptError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(receipt_as_json(receipt))
