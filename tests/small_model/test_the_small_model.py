"""The protocol keeps its promises in every state it can reach; without a guard it does not."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter

import pytest

from tests.small_model import findings
from tests.small_model.correspondence import OF_THE_WORLD, STANDS_FOR, bare
from tests.small_model.protocol import first_state, same_but_for_names, transitions
from tests.small_model.variant import Guard, Variant


@pytest.mark.parametrize("world", findings.WORLDS)
def test_the_protocol_keeps_every_promise_from_every_state(world: str) -> None:
    found = findings.found_in(findings.WORLDS[world])

    assert (found.broken, found.way) == ("", ())
    assert found.states > 10_000


@pytest.mark.parametrize("variant", findings.BROKEN)
def test_without_a_guard_a_promise_breaks(variant: str) -> None:
    assert findings.found_in(findings.BROKEN[variant]).broken


@pytest.mark.parametrize("variant", findings.BROKEN_TWICE)
def test_without_a_guard_somebody_gets_a_second_copy(variant: str) -> None:
    found = findings.found_in(findings.BROKEN_TWICE[variant], findings.SECOND_COPY)

    accepted = [step for step, _ in found.way if getattr(step, "what", "") == "accepts the copy"]
    assert len(accepted) == 2


def test_what_was_told_is_not_sent_again_even_if_the_search_hides_it() -> None:
    assert not findings.found_in(findings.HIDING_SEARCH, findings.TOLD).broken


@pytest.mark.parametrize("variant", findings.BROKEN_MEMORY)
def test_without_its_memory_what_was_told_is_sent_again(variant: str) -> None:
    assert findings.found_in(findings.BROKEN_MEMORY[variant], findings.TOLD).broken


@pytest.mark.parametrize("variant", findings.COVERED)
def test_some_guards_cover_for_one_that_is_missing(variant: str) -> None:
    assert not findings.found_in(findings.COVERED[variant]).broken


@pytest.mark.parametrize("variant", findings.LEFT_OVER)
def test_what_is_left_over_in_theory_is_shown_and_not_hidden(variant: str) -> None:
    assert findings.found_in(findings.LEFT_OVER[variant], findings.SECOND_COPY).broken


def test_every_guard_of_the_model_is_taken_out_somewhere() -> None:
    tried = {*findings.BROKEN.values(), *findings.BROKEN_MEMORY.values()}
    tried |= {*findings.COVERED.values(), *findings.LEFT_OVER.values()}

    assert {guard for variant in tried for guard in variant.without} == set(Guard)


# --- The model and the code -----------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({name for names in STANDS_FOR.values() for name in names}))
def test_what_a_step_stands_for_is_in_the_code(name: str) -> None:
    module, _, path = name.partition(":")

    assert attrgetter(path)(import_module(module))


def test_every_step_of_the_model_stands_for_something() -> None:
    small = Variant(workers=1, people=True, other_mail=True, max_tries=1)

    assert _kinds_of_steps(small) - OF_THE_WORLD <= set(STANDS_FOR)
    assert set(STANDS_FOR) - _kinds_of_steps(small) == {"sets the marked copy aside"}


def _kinds_of_steps(variant: Variant) -> set[str]:
    first = first_state(variant)
    known, line, kinds = {same_but_for_names(first)}, [first], set()
    for state in line:  # Grows while it is walked along.
        for step, after in transitions(state, variant):
            kinds.add(bare(step.what))
            key = same_but_for_names(after)
            if key not in known:
                known.add(key)
                line.append(after)
    return kinds
