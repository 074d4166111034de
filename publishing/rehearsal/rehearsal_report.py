"""The report of a rehearsal: refused readers and sizes. Pure."""

from collections import Counter
from typing import Any

from delivery.rules.reason import Reason
from delivery.rules.reason import dumps as dump_reason

# Refused readers beyond this number are only counted.
MOST_NAMED = 1_000
GMAIL_CLIPS_AT = 102 * 1024  # bytes of the HTML part; Gmail hides the rest


class RehearsalReport:
    """What the messages of a rehearsal add up to. Sizes are in bytes of both parts."""

    def __init__(self) -> None:
        self.checked = self.calls = self.bytes = 0
        self.refused: Counter[str] = Counter()  # by reason
        self.named: list[dict[str, Any]] = []
        self._clipped = 0
        self._sizes: Counter[int] = Counter()

    def add_call(self, call: bytes) -> None:
        """Count a call to the provider."""
        self.calls += 1
        self.bytes += len(call)

    def add_message(self, recipient: int, message: dict[str, Any], refusal: Reason | None) -> None:
        """Count a message, with the reason why it would be refused."""
        html = len(message.get("HtmlBody", "").encode())
        self.checked += 1
        self._sizes[html + len(message.get("TextBody", "").encode())] += 1
        self._clipped += html > GMAIL_CLIPS_AT
        if refusal is not None:
            reason = dump_reason(refusal)
            self.refused[reason] += 1
            if len(self.named) < MOST_NAMED:
                self.named.append({"reader": recipient, "reason": reason})

    def as_json(self) -> dict[str, Any]:
        """Return the report as its column stores it. It has ids of readers, no addresses."""
        sizes = sorted(self._sizes)
        return {
            "calls": self.calls,
            "bytes": self.bytes,
            "smallest": sizes[0] if sizes else 0,
            "median": self._median(sizes),
            "largest": sizes[-1] if sizes else 0,
            "clipped": self._clipped,
            "refused": [[reason, number] for reason, number in self.refused.most_common(20)],
            "named": self.named,
        }

    def _median(self, sizes: list[int]) -> int:
        passed = 0
        for size in sizes:
            passed += self._sizes[size]
            if passed * 2 >= self.checked:
                return size
        return 0
