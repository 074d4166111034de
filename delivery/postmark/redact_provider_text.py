"""The provider's texts, redacted before anything can store them. Pure."""

from delivery.redact_addresses import MAX_LOCAL_PART, redact_addresses

# This mark replaces an address. Only the reader's delivery may contain the address, so that an
# erasure finds it.
REDACTED = "…"
# The number of characters that are read of a text, far more than are stored. The rest of a longer
# text is not read, to save time.
MAX_READ = 8_000


def read_text(value: object, longest: int, *, cut_mark: str = "…") -> str:
    """Redact a text's addresses, and cut it to one line of `longest` characters.

    The result is empty for values that are not texts, because writing out deeply nested lists would
    exhaust the stack.
    """
    if not isinstance(value, str):
        return ""
    redacted = redact_addresses(value[:MAX_READ], REDACTED)
    if len(value) > MAX_READ:
        # The text was cut, so its end may be the beginning of an address.
        redacted = redacted[:-MAX_LOCAL_PART]
    shown = " ".join("".join(one if one.isprintable() else " " for one in redacted).split())
    if len(shown) <= longest:
        return shown
    return f"{shown[: longest - len(cut_mark)]}{cut_mark}"
