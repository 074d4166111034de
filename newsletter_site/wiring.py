"""
Joins apps to those they may not import.

Imports run one way (docs/architecture.md); what is needed from above is registered here.
"""

from __future__ import annotations

from api import bearer
from delivery import chores, readers, starting
from delivery.errands import ERRANDS
from delivery.queue import provider_event
from idempotency.posted import form_posted
from newsletter_site import daily_prune
from newsletter_site.operating import counting
from newsletter_site.tokens.whose import whose
from publishing.starting import CHORE, RegisteredStarter
from subscribers import asking_for_record, expiring
from subscribers.importing import background, expiring_files
from subscribers.readers import RegisteredReaders


def join() -> None:
    """Register who answers what apps may not ask above, and what a worker does beside its calls."""
    readers.register(RegisteredReaders())
    chores.register_long(
        chores.LongChore("the provider's events", provider_event.work, provider_event.is_due)
    )
    chores.register_long(chores.LongChore("imports", background.work, background.is_due))
    chores.register(
        "requests for a record", asking_for_record.answer_waiting, asking_for_record.are_waiting
    )
    chores.register("sign-ups that nobody confirmed", expiring.expire_pending)
    chores.register("files that nobody imported", expiring_files.expire_file)
    chores.register_long(ERRANDS)
    chores.register_long(CHORE)
    chores.register_long(daily_prune.CHORE)
    starting.register(RegisteredStarter())
    bearer.register(whose)
    form_posted.connect(counting.form, dispatch_uid="posted forms are counted")
