"""A set of recipients with a bit for each, so that a million of them fit in little memory. Pure."""

# Recipients of a list are close together; a chunk is made only where one was seen.
CHUNK = 4096


class RecipientSet:
    """A set of recipients' ids."""

    def __init__(self) -> None:
        self._chunks: dict[int, bytearray] = {}

    def add(self, recipient: int) -> bool:
        """Add a recipient; return False if it was there before."""
        is_new = recipient not in self
        chunk, bit = divmod(recipient, CHUNK)
        bits = self._chunks.setdefault(chunk, bytearray(CHUNK // 8))
        bits[bit >> 3] |= 1 << (bit & 7)
        return is_new

    def __contains__(self, recipient: int) -> bool:
        chunk, bit = divmod(recipient, CHUNK)
        bits = self._chunks.get(chunk)
        return bits is not None and bool(bits[bit >> 3] & 1 << (bit & 7))
