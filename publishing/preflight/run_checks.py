"""All checks in their order, and the one sentence that sums them up. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from delivery.humanise import so_many
from publishing.preflight.context import of_the_moment
from publishing.preflight.facts import Facts
from publishing.preflight.finding import Finding, Weight
from publishing.preflight.images import of_the_pictures
from publishing.preflight.links import of_the_links
from publishing.preflight.message import of_the_mail
from publishing.preflight.sender import of_the_sender
from publishing.preflight.words import of_the_words

_CHECKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    of_the_words,
    of_the_moment,
    of_the_pictures,
    of_the_links,
    of_the_mail,
    of_the_sender,
)


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found, set apart by what it means."""

    stops: tuple[Finding, ...]
    advice: tuple[Finding, ...]
    not_known: tuple[Finding, ...]
    in_order: tuple[Finding, ...]

    @classmethod
    def among(cls, found: Iterable[Finding]) -> Findings:
        """Set these apart, each kind in the order in which it came."""
        each = tuple(found)

        def of(weight: Weight) -> tuple[Finding, ...]:
            return tuple(finding for finding in each if finding.weight is weight)

        return cls(of(Weight.STOP), of(Weight.ADVICE), of(Weight.NOT_KNOWN), of(Weight.IN_ORDER))

    @property
    def sentence(self) -> str:
        """How things stand, with the numbers."""
        stops, advised, unknown = len(self.stops), len(self.advice), len(self.not_known)
        said = []
        if stops:
            said.append(f"{so_many(stops, 'thing stops', 'things stop')} this issue.")
        if advised:
            one, many = ("more is", "more are") if stops else ("thing is", "things are")
            said.append(f"{so_many(advised, one, many)} advice and up to you.")
        if not stops:
            said.insert(0, "Nothing stops this issue.")
        if unknown:
            said.append(f"{so_many(unknown, 'thing is', 'things are')} not known.")
        return " ".join(said)

    @property
    def what_is_left(self) -> str:
        """Why the button cannot be pressed: how many stops; the first of them follows it."""
        return f"{so_many(len(self.stops), 'stop is', 'stops are')} left:" if self.stops else ""

    @property
    def first_stop(self) -> str:
        """The first of the stops, as a sentence."""
        if not self.stops:
            return ""
        first = f"{self.stops[0].sentence} {self.stops[0].code}".strip()
        return first if first.endswith(".") else f"{first}."


def findings_of(facts: Facts) -> Findings:
    """Everything that is to be said before an issue goes out."""
    return Findings.among(finding for check in _CHECKS for finding in check(facts))
