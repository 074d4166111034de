"""Visit every reachable state of a machine, the nearest first, and check it.

The explorer knows nothing about delivery. A machine has a first state, a function for the possible
next steps, and promises for every step and for the end.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True)
class Machine(Generic[S]):
    """A state machine to explore.

    `promise` returns the promise that a step from one state to the next breaks, or "". `key` is
    equal for states that differ only in names. `prompt` says which steps happen automatically.
    `last` is a step that happens only if no other step is possible. Automatic steps alone must lead
    from every state to the `end`.
    """

    first: S
    transitions: Callable[[S], Iterable[tuple[object, S]]]
    promise: Callable[[S, S], str]
    key: Callable[[S], Hashable]
    prompt: Callable[[object, S], bool]
    last: object
    end: Callable[[S], bool]


@dataclass(frozen=True)
class Exploration(Generic[S]):
    """The result of an exploration: the count of states, the shortest way to a fault."""

    states: int
    steps: int
    broken: str = ""
    way: Sequence[tuple[object, S]] = field(default_factory=tuple)


def explore(machine: Machine[S]) -> Exploration[S]:
    """Visit every state.

    Stop at the first broken promise. If none is broken, look for states that cannot reach the end.
    """
    states = [machine.first]
    number_of = {machine.key(machine.first): 0}
    came_by: list[tuple[int, object]] = [(0, None)]
    prompt_from: list[list[int]] = []
    steps = 0

    def way_to(number: int) -> list[tuple[object, S]]:
        way: list[tuple[object, S]] = []
        while number:
            before, step = came_by[number]
            way.append((step, states[number]))
            number = before
        return way[::-1]

    for number, state in enumerate(states):  # The list grows during the loop.
        prompt, last = [], []
        for step, after in machine.transitions(state):
            steps += 1
            if broken := machine.promise(state, after):
                return Exploration(len(states), steps, broken, [*way_to(number), (step, after)])
            key = machine.key(after)
            other = number_of.setdefault(key, len(states))
            if other == len(states):
                states.append(after)
                came_by.append((number, step))
            if step == machine.last:
                last.append(other)
            elif machine.prompt(step, state):
                prompt.append(other)
        prompt_from.append(prompt or last)
    stuck = _first_that_may_stick(states, prompt_from, machine.end)
    if stuck is not None:
        broken = "Everything ends if no process crashes, freezes or interferes."
        return Exploration(len(states), steps, broken, way_to(stuck))
    return Exploration(len(states), steps)


def _first_that_may_stick(
    states: Sequence[S], prompt_from: Sequence[Sequence[int]], end: Callable[[S], bool]
) -> int | None:
    """Return the first state from which automatic steps may never reach the end."""
    before = defaultdict(list)
    open_ways = [len(set(following)) for following in prompt_from]
    for number, following in enumerate(prompt_from):
        for other in set(following):
            before[other].append(number)
    ends_well = [end(state) for state in states]
    settled = [number for number, ends in enumerate(ends_well) if ends]
    for number in settled:  # The list grows during the loop.
        for earlier in before[number]:
            open_ways[earlier] -= 1
            if open_ways[earlier] == 0 and not ends_well[earlier]:
                ends_well[earlier] = True
                settled.append(earlier)
    return next((number for number, ends in enumerate(ends_well) if not ends), None)
