"""`manage.py attention`: what goes on only when a person decides, from a shell."""

from typing import Any

from django.core.management.base import BaseCommand

from publishing.dashboard.needs_attention import attention_lines


class Command(BaseCommand):
    help = (
        "List every edition that waits for a person, with its issue and version as `edition` and "
        "`issue_status` take them, and why. Confirmation mails and links to records are among them."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        lines = list(attention_lines())
        for line in lines or ["Nothing waits for a person."]:
            self.stdout.write(line)
