"""`manage.py check`: Django's command, extended to check the database's settings."""

from typing import Any

from django.core.management.commands import check
from django.db import DEFAULT_DB_ALIAS


class Command(check.Command):
    def handle(self, *app_labels: Any, **options: Any) -> None:
        options["databases"] = options["databases"] or [DEFAULT_DB_ALIAS]
        super().handle(*app_labels, **options)
