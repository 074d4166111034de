"""The parameters and the result of a proof."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Wish:
    """
    How to run a proof.

    Without `readers` it takes its usual number. `quick` means tiny sizes, and `share` is K/N.
    """

    seed: int
    readers: int | None = None
    quick: bool = False
    share: str = "1/1"

    def readers_or(self, usual: int, quick: int) -> int:
        """Return the number of readers: as given, usual, or tiny."""
        return self.readers or (quick if self.quick else usual)

    def part_of(self, count: int) -> int:
        """Return how many of `count` are in this share."""
        return max(1, count // int(self.share.partition("/")[2]))


@dataclass(slots=True)
class Finding:
    """The result of a proof: its summary, its figures and its failures."""

    what: str
    figures: list[str] = field(default_factory=list)
    short: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.short

    def expect(self, so: bool, otherwise: str) -> None:
        """Record the failure `otherwise` unless the condition `so` is true."""
        if not so:
            self.short.append(otherwise)


Run = Callable[[Wish], Finding]


def say(line: str) -> None:
    print(f"  {line}", flush=True)


def number(count: float) -> str:
    return f"{count:,.0f}"
