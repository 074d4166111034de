"""What delivery must know of readers; `newsletter_site/wiring.py` registers who answers."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from delivery.postmark.provider_events import AddressEvent


class Readers(Protocol):
    """The answers that delivery needs about recipients, by their ids."""

    def no_longer_mailable(self, recipients: Sequence[int], kind: str) -> Mapping[int, str]:
        """Who may not be sent mail of this kind now: recipient → `withdrawn` or `suppressed`.
        Readers who left may still ask for a confirmation, which is their only way back."""

    def suppressed_among(self, addresses: Sequence[str]) -> Collection[str]:
        """The suppressed ones among these addresses."""

    def mark_refused(self, recipients: Sequence[int], kind: str) -> None:
        """Mark these addresses as refused for good on this kind's stream, in the settling
        transaction."""

    def mail_link(self, kind: str, recipient: int, version: int) -> str:
        """The absolute link in this reader's `version`-th transactional mail of this kind."""

    def apply_events(self, events: Sequence[AddressEvent]) -> None:
        """Apply what the provider reports about addresses, in the caller's transaction. They may
        repeat and come in any order. The `delivery` of each is one of ours or None."""

    def reader_at(self, address: str) -> int | None:
        """The reader with this address, if any."""

    def unsubscribe_urls(self, recipients: Sequence[int]) -> Sequence[str]:
        """The absolute one-click unsubscribe links of these readers, in their order."""

    def reserve_ids(self) -> None:
        """Skip ids that a database may have given out after its backup. The key of a copy sent
        meanwhile has such an id; it must not become another reader's."""


_registered: list[Readers] = []


def register(readers: Readers) -> None:
    """Make `readers` the one that answers."""
    _registered[:] = [readers]


def registered() -> Readers:
    """The registered readers. Raises `LookupError` if wiring has not run."""
    if not _registered:
        raise LookupError("Nobody answers for readers: newsletter_site/wiring.py has not run.")
    return _registered[0]
