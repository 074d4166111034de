"""Variants to explore: numbers of the protocol, its world, removed guards.

Times are whole ticks. They are small, and only their order matters.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Guard(StrEnum):
    """Rule of look-ups that can be removed."""

    LAST_LOOK = "the client looks at the deadline before the first byte"
    EARLY_LOOK = "silence before the schedule begins does not count"
    NO_INFORMATION = "a look-up that failed says nothing"
    WITNESS = "silence counts only if later mail is shown"
    WITNESS_FIRST = "later mail is asked for first"
    CHECK_MAIL = "the last silence counts only if later mail exists"
    CHECK_AFTER_DEADLINE = "check mail is sent only after the deadline"


@dataclass(frozen=True)
class Variant:
    """One protocol in one world.

    `lag` is the longest time until the search shows an acceptance; None is forever. With
    `other_mail` the stream is never silent; otherwise a worker can send `check_mail`. With
    `in_order` the search shows mail in the order of
    acceptance. `people` may pause, resume and cancel. With `one_silence` the first silence that a
    shown later mail confirms is believed, which the real rules do not do.
    """

    lease: int = 1
    deadline: int = 2
    held_after_start: int = 3  # the deadline and the lease
    held_for_look_up: int = 1
    schedule: tuple[int, ...] = (1, 2)
    max_tries: int = 2
    pause: int = 1
    lag: int | None = 1
    other_mail: bool = False
    check_mail: bool = False
    in_order: bool = True
    one_silence: bool = False
    people: bool = False
    workers: int = 2
    sweepers: int = 1
    without: frozenset[Guard] = field(default=frozenset())

    @property
    def asks_for_later_mail(self) -> bool:
        return self.other_mail or self.check_mail

    def has(self, guard: Guard) -> bool:
        return guard not in self.without
