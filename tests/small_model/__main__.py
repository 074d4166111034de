"""
Explores the small model and prints what it found.

    python -m tests.small_model [--larger]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from tests.small_model import findings
from tests.small_model.promises import PROMISES, Promise
from tests.small_model.variant import Variant


def show(
    title: str, variants: Mapping[str, Variant], promises: dict[str, Promise] = PROMISES
) -> None:
    """Print what is found in each variant, and the shortest way to what is broken."""
    print(f"\n{title}\n{'=' * len(title)}")
    for name, variant in variants.items():
        began = time.monotonic()
        found = findings.found_in(variant, promises)
        seconds = time.monotonic() - began
        print(f"\n{name}\n  {found.states:,} states, {found.steps:,} steps, {seconds:.1f} s")
        if not found.broken:
            print("  Every promise is kept, from every state.")
            continue
        print(f"  Broken: {found.broken}")
        for number, (step, _) in enumerate(found.way, 1):
            print(f"  {number:4}. {step}")


def main() -> None:
    """Print everything."""
    show("The protocol as built", findings.WORLDS)
    if "--larger" in sys.argv[1:]:
        show("The protocol as built, in larger worlds", findings.LARGER_WORLDS)
    show("Guards taken out: the first promise that breaks", findings.BROKEN)
    show("Guards taken out, up to the second copy", findings.BROKEN_TWICE, findings.SECOND_COPY)
    show("Memory taken out, with a search that hides", findings.BROKEN_MEMORY, findings.TOLD)
    show("Guards that others cover", findings.COVERED)
    show("What is left over in theory", findings.LEFT_OVER, findings.SECOND_COPY)


main()
