"""The questions about readers that delivery asks through registered hooks.

`newsletter_site/register_hooks_and_tasks.py` registers the methods that answer. The database
function `readers_who_get_no_copy` answers another question about readers
(`subscribers/suppression/sql/`).
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from delivery.provider.events import AddressEvent


class Readers(Protocol):
    """The functions by which delivery reads and changes data of recipients."""

    def suppressed_among(self, addresses: Sequence[str]) -> Collection[str]:
        """Return the addresses among these that are suppressed."""

    def mark_refused(self, recipients: Sequence[int], kind: str) -> None:
        """Mark these addresses as permanently refused on this kind's stream.

        Runs in the settling transaction.
        """

    def mark_inactive(self, recipients: Sequence[int], kind: str, version: int) -> None:
        """Ask the provider to lift its suppressions of readers who requested a mail.

        `recipients` are the readers whose mail the provider just refused as inactive. Runs in the
        settling transaction.
        """

    def mail_link(self, kind: str, recipient: int, version: int) -> str:
        """Return the absolute link in this reader's `version`-th mail of this kind."""

    def apply_events(self, events: Sequence[AddressEvent]) -> None:
        """Apply the provider's events about addresses, in the caller's transaction.

        Events may repeat and arrive in any order. The `delivery` of an event is the key of a copy
        that Homing sent, or None.
        """

    def reader_at(self, address: str) -> int | None:
        """Return the reader with this address, if any."""

    def address_of(self, recipient: int) -> str | None:
        """Return the address of this reader, if there is one."""

    def is_erased(self, address: str) -> bool:
        """Whether a reader with this address was erased."""

    def unsubscribe_urls(self, recipients: Sequence[int]) -> Sequence[str]:
        """Return the absolute one-click unsubscribe links of these readers, in order."""

    def preferences_urls(self, recipients: Sequence[int]) -> Sequence[str]:
        """Return the absolute links to these readers' pages of topics, in order."""

    def reserve_ids(self) -> None:
        """Skip reader ids that may have been used since the backup was taken.

        Copies may have been sent since the backup, and the key of a copy contains its reader's id.
        So a new reader must not get an id that was used since the backup.
        """


_registered: list[Readers] = []


def register(readers: Readers) -> None:
    """Register `readers` as the object whose methods delivery calls."""
    _registered[:] = [readers]


def registered() -> Readers:
    """Return the registered readers.

    Raises `LookupError` if nothing is registered yet.
    """
    if not _registered:
        raise LookupError(
            "No readers are registered: newsletter_site/register_hooks_and_tasks.py has not run."
        )
    return _registered[0]
