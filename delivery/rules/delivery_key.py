"""
The key of a delivery as text: `<issue hex>.<version>.<recipient id>`.

It travels in the mail's metadata and can be read back, so that the provider's record finds the
row without an index on the provider's ids.
"""

import re
import uuid
from dataclasses import dataclass

_TEXT = re.compile(r"([0-9a-f]{32})\.([1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,17})")


@dataclass(frozen=True, slots=True)
class DeliveryKey:
    """Which copy: of which issue and version, for which recipient; 0 is nobody on the list."""

    issue: uuid.UUID
    version: int
    recipient: int

    def __str__(self) -> str:
        return f"{key_prefix(self.issue, self.version)}{self.recipient}"


def key_prefix(issue: uuid.UUID, version: int) -> str:
    """What the keys of all copies of an edition begin with; the recipient follows."""
    return f"{issue.hex}.{version}."


def read(text: str) -> DeliveryKey | None:
    """The key that `text` spells, or None."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    return DeliveryKey(uuid.UUID(hex=match[1]), int(match[2]), int(match[3]))
