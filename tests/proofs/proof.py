"""What a proof is asked for, and what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Wish:
    """How to run a proof. `readers` is None for its own number; `quick` is tiny; `share` is K/N."""

    seed: int
    readers: int | None = None
    quick: bool = False
    share: str = "1/1"

    def readers_or(self, usual: int, quick: int) -> int:
        """How many readers: as asked for, or the usual number, or a few."""
        return self.readers or (quick if self.quick else usual)

    def part_of(self, count: int) -> int:
        """How many of `count` are in this share."""
        return max(1, count // int(self.share.partition("/")[2]))


@dataclass(slots=True)
class Finding:
    """The result of one proof: what was done, the figures, and what fell short, if anything."""

    what: str
    figures: list[str] = field(default_factory=list)
    short: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.short

    def expect(self, so: bool, otherwise: str) -> None:
        """Note `otherwise` as fallen short unless it is so."""
        if not so:
            self.short.append(otherwise)


Run = Callable[[Wish], Finding]


def say(line: str) -> None:
    print(f"  {line}", flush=True)


def number(count: float) -> str:
    return f"{count:,.0f}"
