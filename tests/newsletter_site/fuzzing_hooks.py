"""
What the fuzzer cannot know: what there is at an address, and that a key stands for one call.

Left alone it makes up ids that nothing has, and uses one key for everything, so that most of what
it asks is refused before any work begins. Loaded by schemathesis (`SCHEMATHESIS_HOOKS`), in its
process. All is drawn from the call itself, so that a seed repeats it.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase
from schemathesis.generation.modes import GenerationMode

# By the name in an address, the ids that there are.
PLACES: dict[str, list[str]] = json.loads(os.environ.get("FUZZ_PLACES", "{}"))
KEY = "Idempotency-Key"


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Three of four calls go where something is, under a key that no other call has."""
    drawn = _drawn(case)
    if drawn % 4 == 0:
        return
    if _is_good(case, ParameterLocation.PATH):
        for name, ids in PLACES.items():
            if name in case.path_parameters:
                case.path_parameters[name] = ids[drawn // 4 % len(ids)]
        # Left alone, the fuzzer repeats one action, which may be refused everywhere.
        if "action" in case.path_parameters and case.meta.phase.name != TestPhase.COVERAGE:
            actions = _actions(case)
            case.path_parameters["action"] = actions[(drawn >> 64) % len(actions)]
    if _is_good(case, ParameterLocation.HEADER) and KEY in case.headers:
        case.headers[KEY] = f"{drawn:x}"[:32]


def _is_good(case: Any, part: ParameterLocation) -> bool:
    """Whether this part of a call is as the document allows, and no other call led to it."""
    component = case.meta.components.get(part) if case.meta else None
    return component is not None and component.mode is GenerationMode.POSITIVE


def _actions(case: Any) -> list[str]:
    """The actions that the document lists for this address."""
    listed = (one["schema"] for one in case.operation.definition.raw["parameters"])
    return next(schema["enum"] for schema in listed if "enum" in schema)


def _drawn(case: Any) -> int:
    said = [case.operation.label, case.path_parameters, case.query, dict(case.headers), case.body]
    return int.from_bytes(hashlib.sha256(repr(said).encode()).digest(), "big")
