"""Renders the messages of batches. Renderers of the editions being sent are kept."""

import uuid
from collections import OrderedDict

from django.conf import settings

from delivery.hooks import readers
from delivery.mail.message_for_reader import Links, Renderer
from delivery.models import Edition, Newsletter
from delivery.queue.claim import Claim
from delivery.queue.start import load_recipients

# More editions than this at a time take turns.
RENDERERS_KEPT = 8


class Renderers:
    """The renderers of one thread, by edition."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Renderer] = OrderedDict()

    def render(self, claim: Claim, attempt: uuid.UUID) -> dict[int, tuple[str, bytes]]:
        """The address and the JSON of each message of the batch, by recipient."""
        renderer = self._renderer(claim.edition)
        recipients = load_recipients(claim)
        messages = renderer.messages(recipients, attempt)
        return {
            one.recipient: (one.address, message)
            for one, message in zip(recipients, messages, strict=True)
        }

    def _renderer(self, edition: int) -> Renderer:
        renderer = self._kept.pop(edition, None) or renderer_of(Edition.objects.get(pk=edition))
        # Transactional editions are open for years, and the newsletter's settings may change.
        if not renderer.is_transactional:
            self._kept[edition] = renderer
            if len(self._kept) > RENDERERS_KEPT:
                self._kept.popitem(last=False)
        return renderer


def renderer_of(edition: Edition) -> Renderer:
    """The renderer of an edition that is sent."""
    links = Links(
        readers.registered().unsubscribe_urls,
        readers.registered().mail_link,
        handles_unsubscribes=settings.UNSUBSCRIBE_HANDLING == "own",
    )
    return Renderer(edition, Newsletter.objects.get_current(), links, sender=settings.FROM_EMAIL)
