"""The key of a delivery, in metadata: `<issue hex>.<version>.<recipient id>`."""

import re
import uuid
from dataclasses import dataclass

_TEXT = re.compile(r"([0-9a-f]{32})\.([1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,17})")


@dataclass(frozen=True, slots=True)
class DeliveryKey:
    """One copy: its issue, version and recipient. Recipient 0 stands for test letters."""

    issue: uuid.UUID
    version: int
    recipient: int

    def __str__(self) -> str:
        return f"{key_prefix(self.issue, self.version)}{self.recipient}"


def key_prefix(issue: uuid.UUID, version: int) -> str:
    """Return the start of the keys of an edition's copies; the recipient follows."""
    return f"{issue.hex}.{version}."


def read(text: str) -> DeliveryKey | None:
    """Parse a key; None if `text` is not a key."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    return DeliveryKey(uuid.UUID(hex=match[1]), int(match[2]), int(match[3]))
