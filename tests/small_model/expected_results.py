"""Explored worlds and guards, and whether a promise must break in each."""

from dataclasses import replace
from functools import partial

from tests.small_model.explorer import Exploration, Machine, explore
from tests.small_model.promises import (
    NO_SECOND_COPY,
    PROMISES,
    REPORTED_IS_KNOWN,
    Promise,
    broken_by,
)
from tests.small_model.protocol import (
    PASSES,
    first_state,
    has_ended,
    is_prompt,
    same_but_for_names,
    transitions,
)
from tests.small_model.state import State
from tests.small_model.variant import Guard, Variant


def found_in(variant: Variant, promises: dict[str, Promise] = PROMISES) -> Exploration[State]:
    return explore(
        Machine(
            first=first_state(variant),
            transitions=partial(transitions, variant=variant),
            promise=partial(broken_by, promises=promises),
            key=same_but_for_names,
            prompt=is_prompt,
            last=PASSES,
            end=has_ended,
        )
    )


SECOND_COPY = {NO_SECOND_COPY: PROMISES[NO_SECOND_COPY]}
TOLD = {REPORTED_IS_KNOWN: PROMISES[REPORTED_IS_KNOWN]}

PROMPT_SEARCH = Variant()
LAGGING_SEARCH = Variant(lag=None, other_mail=True, max_tries=1)
# Nothing else is sent: the last batch of an issue, or its only one.
SILENT_STREAM = Variant(lag=None, check_mail=True, max_tries=1)
PEOPLE = Variant(people=True, max_tries=1)
# It shows later mail while it hides an acceptance, but for no longer than the schedule allows.
OUT_OF_ORDER = Variant(lag=2, schedule=(1, 3), other_mail=True, in_order=False, workers=1)
# Here the search may hide an acceptance forever and no webhook arrives: the remaining risk.
HIDING_SEARCH = Variant(lag=None, schedule=(1,), deadline=1, held_after_start=2)

WORLDS = {
    "a search that lags by no more than the schedule allows": PROMPT_SEARCH,
    "a search that lags as long as it likes, in order, on a busy stream": LAGGING_SEARCH,
    "a search that lags as long as it likes, in order, and check mail": SILENT_STREAM,
    "an author who pauses, resumes and cancels": PEOPLE,
}
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
}


def _without(*guards: Guard, of: Variant = PROMPT_SEARCH) -> Variant:
    return replace(of, without=frozenset(guards))


# The shortest of deadlines is enough.
_IN_BRIEF = Variant(people=True, max_tries=1, deadline=1, held_after_start=2, schedule=(1,))

BROKEN = {
    "no attempt on record before the call": _without(Guard.ATTEMPT_FIRST),
    "claims that do not raise the epoch": _without(Guard.CLAIM_NEW_EPOCH),
    "a start that does not repeat the epoch": _without(Guard.START_EPOCH),
    "a settlement that does not repeat the epoch": _without(Guard.SETTLE_EPOCH),
    "a sweep that does not repeat what it saw": _without(Guard.SWEEP_REPEATS),
    "a sweep that does not look at the lease": replace(
        PROMPT_SEARCH, workers=1, without=frozenset({Guard.SWEEP_LEASE})
    ),
    "a list of unsent calls believed while its process is alive": _without(Guard.DEAD_ONLY),
    "a request complete before its call leaves the list": _without(Guard.LIST_FIRST),
    "silence that counts before the schedule begins": _without(
        Guard.EARLY_LOOK, of=replace(PROMPT_SEARCH, schedule=(2,))
    ),
    "a failed look-up taken for “not there”": _without(Guard.NO_INFORMATION),
    "no quiet period": replace(PROMPT_SEARCH, schedule=(0,)),
    "a last look-up before the deadline or within the search's lag": replace(
        PROMPT_SEARCH, schedule=(1, 1)
    ),
    "silence believed without a look at later mail": _without(Guard.WITNESS, of=LAGGING_SEARCH),
    "later mail asked for last": _without(Guard.WITNESS_FIRST, of=LAGGING_SEARCH),
    "silence believed without check mail": _without(
        Guard.CHECK_MAIL, of=replace(SILENT_STREAM, max_tries=2)
    ),
    "check mail that is not looked for": _without(
        Guard.WITNESS, of=replace(SILENT_STREAM, max_tries=2)
    ),
    "check mail asked for last": _without(
        Guard.WITNESS_FIRST, of=replace(SILENT_STREAM, max_tries=2)
    ),
    "check mail before the deadline": _without(
        Guard.CHECK_AFTER_DEADLINE,
        of=replace(SILENT_STREAM, max_tries=2, schedule=(1,), deadline=3),
    ),
    "a longer schedule instead of check mail": replace(HIDING_SEARCH, schedule=(1, 2, 4)),
    "a start that does not repeat the state": _without(Guard.START_STATE, of=_IN_BRIEF),
    "a start that does not look at the lease": _without(Guard.START_LEASE, of=_IN_BRIEF),
    "a start that looks at neither the state nor the lease": _without(
        Guard.START_STATE, Guard.START_LEASE, of=PEOPLE
    ),
}

# A late reply saves a copy that the search hides. The promise is only that a reported acceptance
# stays known.
BROKEN_MEMORY = {
    "a late reply thrown away": _without(Guard.KEEP_EVIDENCE, of=HIDING_SEARCH),
    "a start that does not look for marks": _without(Guard.START_MARKS, of=HIDING_SEARCH),
}

COVERED = {
    "a settlement that does not repeat the state: the delivery's row is not as it was": (
        _without(Guard.SETTLE_STATE, of=replace(PROMPT_SEARCH, max_tries=1))
    ),
    "a lease that ends before the call's deadline: look-ups count from the deadline on record": (
        replace(PROMPT_SEARCH, held_after_start=1, max_tries=1)
    ),
}

# One silence confirmed by later mail, instead of the whole schedule. It is safe only in the first
# world. Nothing says that the provider's search keeps the order, so the rules do not use it
# (docs/decisions/0036-a-crash-costs-seconds.md).
ONE_SILENCE_IN_ORDER = {
    "a search that lags as long as it likes, in order": replace(LAGGING_SEARCH, one_silence=True)
}
ONE_SILENCE_OUT_OF_ORDER = {
    "a search that lags by no more than the schedule, out of order": (
        replace(OUT_OF_ORDER, one_silence=True)
    )
}

LEFT_OVER = {
    "a process frozen between its last look at the deadline and its first byte": _without(
        Guard.LAST_LOOK
    ),
    "a search that hides an acceptance beyond the schedule, without later mail": (HIDING_SEARCH),
}

# Each of these sends a second copy. The other variants break another promise before that.
BROKEN_TWICE = {
    name: variant
    for name, variant in BROKEN.items()
    if variant.max_tries > 1
    and not variant.without & {Guard.CLAIM_NEW_EPOCH, Guard.START_EPOCH, Guard.SWEEP_LEASE}
}

# Small enough for every run of the tests.
SMALL_WORLDS = {name: replace(variant, workers=1) for name, variant in WORLDS.items()}

Group = tuple[str, dict[str, Variant], dict[str, Promise], bool]
QUICK: list[Group] = [("One worker", SMALL_WORLDS, PROMISES, False)]
GROUPS: list[Group] = [
    ("The protocol as built", WORLDS | LARGER_WORLDS, PROMISES, False),
    ("Guards removed", BROKEN, PROMISES, True),
    ("Guards removed, up to the second copy", BROKEN_TWICE, SECOND_COPY, True),
    ("A search that hides, and a memory", {"as built": HIDING_SEARCH}, TOLD, False),
    ("Memory removed, with a search that hides", BROKEN_MEMORY, TOLD, True),
    ("Guards that others cover", COVERED, PROMISES, False),
    ("One silence with later mail", ONE_SILENCE_IN_ORDER, PROMISES, False),
    ("One silence with later mail, out of order", ONE_SILENCE_OUT_OF_ORDER, SECOND_COPY, True),
    ("The theoretical remainder", LEFT_OVER, SECOND_COPY, True),
]
