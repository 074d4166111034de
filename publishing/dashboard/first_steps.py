"""List the steps from a new site to its first issue, and check which are done.

The texts of the steps are in `first_steps.html`.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings
from django.urls import reverse
from django.utils.text import get_text_list
from django.utils.translation import gettext as _

from delivery.interface import Capabilities, capabilities, provider_class
from delivery.mail.mark_test_letter import TEST_ISSUE
from delivery.models import Delivery, Newsletter, ProviderEvent
from delivery.models.delivery import Outcome
from publishing.dashboard.issue_pages import open_drafts

_LOOK = ("accent", "typeface", "layout", "header", "logo")


class Step(StrEnum):
    """The steps to the first issue, in the order in which a new author takes them."""

    NAME = "name"
    SENDER = "sender"
    LOOK = "look"
    WEBHOOK = "webhook"
    READERS = "readers"
    LETTER = "letter"
    TEST = "test"
    ISSUE = "issue"


OF_SETTINGS = frozenset({Step.NAME, Step.SENDER, Step.LOOK, Step.WEBHOOK})
OF_WRITERS = frozenset({Step.LETTER, Step.TEST})
# Each key is a permission of a `Viewer`. Each value has the steps that the permission allows.
STEPS = {
    "changes_settings": OF_SETTINGS,
    "manages": frozenset({Step.READERS}),
    "writes": OF_WRITERS,
    "publishes": frozenset({Step.ISSUE}),
}
OPTIONAL = frozenset({Step.LOOK})


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """The steps of one viewer. Each step has a flag that says whether it is done.

    `draft` is the draft that was saved last.
    """

    steps: tuple[tuple[Step, bool], ...]
    draft: uuid.UUID | None = None

    @property
    def can(self) -> Capabilities:
        """What the provider can do."""
        return capabilities()

    @property
    def takes_webhooks(self) -> bool:
        """Whether an operator has set the name and the password for webhooks."""
        return bool(provider_class().webhook_login())

    @property
    def login_settings(self) -> str:
        """The names of the settings for webhooks."""
        return str(get_text_list([*capabilities().login_settings], _("and")))

    @property
    def webhook_url(self) -> str:
        """The webhook's address for the provider, with placeholders for name and password."""
        scheme, _, host = settings.SITE_URL.partition("://")
        path = reverse("delivery:webhook", args=[capabilities().path])
        return f"{scheme}://USER:PASSWORD@{host}{path}"

    @property
    def webhook_types(self) -> str:
        """The events that the provider should report, with the names on its own page."""
        return ", ".join(capabilities().webhook_events.values())


def choose_steps(may: Collection[Step], done: Collection[Step]) -> tuple[tuple[Step, bool], ...]:
    """Return the steps that are shown to the viewer.

    If all required steps are done, the result is empty.
    """
    steps = tuple((step, step in done) for step in Step if step in may)
    is_open = any(not is_done and step not in OPTIONAL for step, is_done in steps)
    return steps if is_open else ()


def load_first_steps(
    newsletter: Newsletter, may: Collection[Step], *, readers: int, has_issue: bool, has_sent: bool
) -> FirstSteps:
    """Load the steps of a viewer.

    No query is needed if the site has a name and has sent an issue. A sent issue also shows that
    the provider accepted its sender.
    """
    if not may or (newsletter.is_named and has_issue and (newsletter.sender_address or has_sent)):
        return FirstSteps(())
    tests = Delivery.objects.filter(
        issue=TEST_ISSUE, outcome=Outcome.SENT, batch__edition__sender=""
    )
    has_test = tests.exists()
    draft = open_drafts().values_list("pk", flat=True).first()
    fresh = Newsletter()
    facts = {
        Step.NAME: newsletter.is_named,
        # A test letter that the provider accepted shows that it accepts the sender in use.
        Step.SENDER: bool(newsletter.sender_address) or has_sent or has_test,
        Step.LOOK: any(getattr(newsletter, name) != getattr(fresh, name) for name in _LOOK),
        Step.WEBHOOK: ProviderEvent.objects.filter(trace__isnull=False).exists(),
        Step.READERS: readers > 0,
        Step.LETTER: bool(draft) or has_issue,
        Step.TEST: has_test,
        Step.ISSUE: has_issue,
    }
    done = [step for step, is_done in facts.items() if is_done]
    left_out = {Step.TEST} if has_issue and not has_test else set()
    if not capabilities().path:
        left_out.add(Step.WEBHOOK)
    return FirstSteps(choose_steps(set(may) - left_out, done), draft)
