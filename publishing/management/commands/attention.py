"""`manage.py attention`: list all editions that wait for a decision."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from delivery.reports.load_edition_counts import (
    load_held_transactional,
    load_open_counts,
    load_open_newsletters,
)
from delivery.rules.edition_state import awaits_decision
from publishing.dashboard.sending_now import title_of
from publishing.editions.edition_status import status_from_counts


class Command(BaseCommand):
    help = _(
        "List every edition that needs your decision, with its issue, its version and the reason. "
        "This includes transactional mail."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        editions = [*load_open_newsletters(), *load_held_transactional()]
        waiting = [counts for counts in load_open_counts(editions) if awaits_decision(counts)]
        for counts in sorted(waiting, key=lambda counts: counts.edition):
            status = status_from_counts(counts)
            line = _("issue {issue} version {version} “{title}”: {state}. {reason}").format(
                issue=counts.issue,
                version=counts.version,
                title=title_of(status),
                state=status.state_words,
                reason=status.reason(),
            )
            self.stdout.write(line)
        if not waiting:
            self.stdout.write(_("No edition needs your decision."))
