"""Which recipients a walk has seen: a bit for each, so that a million cost no more than a page."""

from __future__ import annotations

# Recipients of a list stand close together; a stretch is made only where somebody was seen.
CHUNK = 4096


class RecipientSet:
    """A set of recipients' numbers. Pure."""

    def __init__(self) -> None:
        self._stretches: dict[int, bytearray] = {}

    def add(self, recipient: int) -> bool:
        """Remember a recipient; False if they were seen before."""
        stretch, place = divmod(recipient, CHUNK)
        bits = self._stretches.get(stretch)
        if bits is None:
            bits = self._stretches[stretch] = bytearray(CHUNK // 8)
        is_new = not bits[place >> 3] & 1 << (place & 7)
        bits[place >> 3] |= 1 << (place & 7)
        return is_new

    def __contains__(self, recipient: int) -> bool:
        stretch, place = divmod(recipient, CHUNK)
        bits = self._stretches.get(stretch)
        return bits is not None and bool(bits[place >> 3] & 1 << (place & 7))
