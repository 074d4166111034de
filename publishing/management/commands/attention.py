"""`manage.py attention`: list the editions that wait for a decision."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from publishing.dashboard.needs_attention import attention_lines


class Command(BaseCommand):
    help = _(
        "List every edition that needs your decision, with its issue, its version and the reason. "
        "This includes transactional mail."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        lines = list(attention_lines())
        for line in lines or [_("No edition needs your decision.")]:
            self.stdout.write(line)
