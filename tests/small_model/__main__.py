"""Explore every state of the small model: `python -m tests.small_model`.

Variants without a guard must break a promise: the shortest way to it is printed. `make proofs
PROOFS=model` is the same.
"""

import sys
import time

from tests.proofs.proof import Finding, Wish, number, say
from tests.small_model import expected_results


def run(wish: Wish) -> Finding:
    """Explore all worlds, or only the small ones."""
    groups = expected_results.QUICK if wish.quick else expected_results.GROUPS
    finding = Finding("every state of the small model, and of the model without each of its guards")
    states, kept, broken = 0, 0, 0
    for title, variants, promises, breaks in groups:
        say(f"{title}:")
        for name, variant in variants.items():
            began = time.monotonic()
            found = expected_results.found_in(variant, promises)
            states += found.states
            kept, broken = kept + (not found.broken), broken + bool(found.broken)
            counts = f"{number(found.states)} states, {number(found.steps)} steps"
            say(f"  {name}: {counts}, {time.monotonic() - began:.1f} s; {found.broken or 'kept'}")
            for place, (step, _) in enumerate(found.way, 1):
                say(f"    {place:4}. {step}")
            finding.expect(bool(found.broken) is breaks, f"{name}: {found.broken or 'kept'}")
    finding.figures += [
        f"{number(states)} states",
        f"{kept} keep every promise, {broken} break one",
    ]
    return finding


if __name__ == "__main__":
    sys.exit(0 if run(Wish(seed=0)).passed else 1)
