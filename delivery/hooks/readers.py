"""
What delivery must know of readers, asked through a small interface.

Delivery imports no other app. `newsletter_site/wiring.py` registers who answers.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from delivery.postmark.provider_events import ProviderEvent


class Readers(Protocol):
    """The answers that delivery needs about recipients, by their ids."""

    def no_longer_mailable(self, recipients: Sequence[int], kind: str) -> Mapping[int, str]:
        """
        Who may not be sent mail of this kind now: recipient → `withdrawn` or `suppressed`.

        `kind` is that of the edition: who left the newsletter may still ask for a confirmation,
        which is their only way back. One query.
        """
        ...

    def suppressed_among(self, addresses: Sequence[str]) -> Collection[str]:
        """The suppressed ones among these addresses, for mail to an address and not to a reader."""
        ...

    def mark_refused(self, recipients: Sequence[int], kind: str) -> None:
        """
        The provider refused these addresses for good, on the stream that mail of this kind goes
        over. Runs in the settling transaction.
        """
        ...

    def mail_link(self, kind: str, recipient: int, version: int) -> str:
        """Where a mail on request leads this reader, whose `version`-th it is; absolute."""
        ...

    def apply_events(self, events: Sequence[ProviderEvent]) -> None:
        """
        Apply what the provider reports about addresses. Runs in the applying transaction.

        Any fact may come again, and in any order; the state in the end must be the same. A fact's
        `delivery` names a copy of ours, and thereby its reader, or is None.
        """
        ...

    def reader_at(self, address: str) -> int | None:
        """Whose address this is, if anybody's."""
        ...

    def unsubscribe_urls(self, recipients: Sequence[int]) -> Sequence[str]:
        """Where each of these readers leaves with one click; absolute addresses, in their order."""
        ...

    def reserve_ids(self) -> None:
        """
        Give no id again that a database may have given out after its backup was taken.

        A copy that went out then bears it in its key, and would be taken for another reader's.
        """
        ...


_registered: list[Readers] = []


def register(readers: Readers) -> None:
    """Make `readers` the one that is asked from now on."""
    _registered[:] = [readers]


def registered() -> Readers:
    """Whom to ask. Raises `LookupError` if nobody was registered, which is a wiring fault."""
    if not _registered:
        raise LookupError("Nobody answers for readers: newsletter_site/wiring.py has not run.")
    return _registered[0]
