"""What a proof is asked for, and what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Wish:
    """How a proof is to be run. `readers` is None for the proof's own number; `quick` is tiny."""

    seed: int
    readers: int | None = None
    quick: bool = False

    def readers_or(self, usual: int, quick: int) -> int:
        """How many readers: as asked for, or the usual number, or a few."""
        return self.readers or (quick if self.quick else usual)


@dataclass(slots=True)
class Finding:
    """The result of one proof: what was done, the figures, and what fell short, if anything."""

    what: str
    figures: list[str] = field(default_factory=list)
    short: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether everything that was promised was seen."""
        return not self.short

    def expect(self, so: bool, otherwise: str) -> None:
        """Note `otherwise` as fallen short unless it is so."""
        if not so:
            self.short.append(otherwise)


Proof = Callable[[Wish], Finding]


def say(line: str) -> None:
    """Progress for whoever watches."""
    print(f"  {line}", flush=True)


def number(count: float) -> str:
    """A number as it is read."""
    return f"{count:,.0f}"
