"""What became of the copies that an edition sent. Pure."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class EditionResults:
    """Copies by what was reported about them, out of the `sent` ones."""

    edition: int
    published_at: datetime
    sent: int
    delivered: int
    bounced: int
    complained: int
    unsubscribed: int
