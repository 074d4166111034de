"""Worlds that keep every promise, and rules without which a promise is broken.

Times are whole ticks. The times are small, because only their order matters. The guards
in the code are checked by another program (tests/guards). This module has only the rules about time
and silence, which no single test can check.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum


class Guard(StrEnum):
    """A rule of look-ups that a variant can leave out."""

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

    `lag` is the longest time until the search shows an acceptance; None means forever. With
    `other_mail` there is always later mail on the stream. With `check_mail`, a worker can send a
    check mail. With `in_order` the search shows mail in the order of acceptance. With `people`, an
    author may pause, resume and cancel. With `one_silence`, the first empty result counts if the
    search shows later mail. The real rules wait for the whole schedule.
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


PROMPT_SEARCH = Variant()
LAGGING_SEARCH = Variant(lag=None, other_mail=True, max_tries=1)
# Nothing else is sent on the stream, as after the last or only batch of an issue.
SILENT_STREAM = Variant(lag=None, check_mail=True, max_tries=1)
PEOPLE = Variant(people=True, max_tries=1)
# The search may show later mail before it shows an acceptance, but the delay is never longer than
# the schedule allows.
OUT_OF_ORDER = Variant(lag=2, schedule=(1, 3), other_mail=True, in_order=False, workers=1)
# The remaining risk: the search may hide an acceptance forever, and no webhook arrives.
HIDING_SEARCH = Variant(lag=None, schedule=(1,), deadline=1, held_after_start=2)

WORLDS = {
    "a search that lags by no more than the schedule allows": PROMPT_SEARCH,
    "a search that lags as long as it likes, in order, on a busy stream": LAGGING_SEARCH,
    "a search that lags as long as it likes, in order, and check mail": SILENT_STREAM,
    "an author who pauses, resumes and cancels": PEOPLE,
}
# These worlds are small enough for every run of the tests.
SMALL_WORLDS = {name: replace(variant, workers=1) for name, variant in WORLDS.items()}
LARGER_WORLDS = {
    "a search that lags in order, and a second try": replace(LAGGING_SEARCH, max_tries=2),
    "check mail, and a second try": replace(SILENT_STREAM, max_tries=2),
    "check mail, and a search that lags by no more than the schedule, out of order": (
        replace(OUT_OF_ORDER, other_mail=False, check_mail=True)
    ),
    "an author, and a second try": replace(PEOPLE, max_tries=2),
    "a search that lags by no more than the schedule, out of order": OUT_OF_ORDER,
    "two sweeps at once": Variant(sweepers=2),
    "three workers": Variant(workers=3, max_tries=1),
    "a lease that ends before the deadline: look-ups count from the deadline on record": (
        replace(PROMPT_SEARCH, held_after_start=1, max_tries=1)
    ),
    # One empty result counts if the search shows later mail, even before the schedule has ended.
    # The real rules do not use this, because the provider does not promise that its search shows
    # mail in the order of sending (docs/decisions/0036-a-crash-costs-seconds.md).
    "one silence, in order": replace(LAGGING_SEARCH, one_silence=True),
}


def _without(guard: Guard, of: Variant) -> Variant:
    return replace(of, without=frozenset({guard}))


_SILENT_TWICE = replace(SILENT_STREAM, max_tries=2)

# In each of these worlds a second copy is sent. The last three worlds show risks that remain
# (docs/guarantees.md).
SENDS_TWICE = {
    "silence that counts before the schedule begins": _without(
        Guard.EARLY_LOOK, replace(PROMPT_SEARCH, schedule=(2,))
    ),
    "a failed look-up taken for “not there”": _without(Guard.NO_INFORMATION, PROMPT_SEARCH),
    "no quiet period": replace(PROMPT_SEARCH, schedule=(0,)),
    "a last look-up before the deadline or within the search's lag": replace(
        PROMPT_SEARCH, schedule=(1, 1)
    ),
    "silence believed without a look at later mail": _without(
        Guard.WITNESS, replace(LAGGING_SEARCH, max_tries=2)
    ),
    "later mail asked for last": _without(
        Guard.WITNESS_FIRST, replace(LAGGING_SEARCH, max_tries=2)
    ),
    "silence believed without check mail": _without(Guard.CHECK_MAIL, _SILENT_TWICE),
    "check mail that is not looked for": _without(Guard.WITNESS, _SILENT_TWICE),
    "check mail asked for last": _without(Guard.WITNESS_FIRST, _SILENT_TWICE),
    "check mail before the deadline": _without(
        Guard.CHECK_AFTER_DEADLINE, replace(_SILENT_TWICE, schedule=(1,), deadline=3)
    ),
    "a longer schedule instead of check mail": replace(HIDING_SEARCH, schedule=(1, 2, 4)),
    "one silence, out of order": replace(OUT_OF_ORDER, one_silence=True),
    "a process frozen between its last look at the deadline and its first byte": _without(
        Guard.LAST_LOOK, PROMPT_SEARCH
    ),
    "a search that hides an acceptance beyond the schedule, without later mail": HIDING_SEARCH,
}
