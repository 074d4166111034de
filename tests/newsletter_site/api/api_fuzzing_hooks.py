"""Give the fuzzer existing ids, and a new key for each call.

Without these hooks, the fuzzer invents ids and uses one key for everything, and the site refuses
most calls before any work begins. schemathesis loads this module into its process
(`SCHEMATHESIS_HOOKS`). Calls are counted instead of drawn at random, so that every operation
succeeds in every run.
"""

import hashlib
import json
import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase
from schemathesis.generation.modes import GenerationMode

# Existing ids of the site, with the names of the path parameters as keys.
PLACES: dict[str, list[str]] = json.loads(os.environ.get("FUZZ_PLACES", "{}"))
KEY = "Idempotency-Key"


# The number of good calls so far, for each pair of an operation and a part of the call.
CALLS: Counter[tuple[str, ParameterLocation]] = Counter()


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Give three of four calls an existing id and a new key."""
    number = _counted(case, ParameterLocation.PATH)
    if number is not None:
        # Choose the action here. The fuzzer would repeat one action, and the site may refuse this
        # action every time.
        if "action" in case.path_parameters and case.meta.phase.name != TestPhase.COVERAGE:
            actions = _actions(case)
            number, action = divmod(number, len(actions))
            case.path_parameters["action"] = actions[action]
        for name, ids in PLACES.items():
            if name in case.path_parameters:
                case.path_parameters[name] = ids[number % len(ids)]
        if case.operation.path.endswith("/reschedule/"):
            case.path_parameters["issue"] = PLACES["scheduled"][number % len(PLACES["scheduled"])]
        if case.operation.path.endswith("/undo/"):
            case.path_parameters["import_id"] = PLACES["ended"][number % len(PLACES["ended"])]
    number = _counted(case, ParameterLocation.BODY)
    if number is not None and case.operation.path.endswith("/reschedule/"):
        in_a_week = datetime.now(UTC) + timedelta(days=7, minutes=number)
        case.body = {"at": f"{in_a_week:%Y-%m-%dT%H:%M}", "zone": "UTC"}
    if number is not None and case.operation.path.endswith("/new-address/"):
        case.body = {"address": f"reader.{number}@orchard.example.org"}
    number = _counted(case, ParameterLocation.HEADER)
    if number is not None and KEY in case.headers:
        text = f"{case.operation.label} {number}"
        case.headers[KEY] = hashlib.sha256(text.encode()).hexdigest()[:32]


def _counted(case: Any, part: ParameterLocation) -> int | None:
    """Return the number of a good call; None for a bad call or every fourth good call.

    A call is good if no other call led to it, and the document says that this part is valid.
    """
    component = case.meta.components.get(part) if case.meta else None
    if component is None or component.mode is not GenerationMode.POSITIVE:
        return None
    called = (case.operation.label, part)
    CALLS[called] += 1
    return None if CALLS[called] % 4 == 0 else CALLS[called] - CALLS[called] // 4 - 1


def _actions(case: Any) -> list[str]:
    """Return the actions that the document lists for this address."""
    listed = (one["schema"] for one in case.operation.definition.raw["parameters"])
    return next(schema["enum"] for schema in listed if "enum" in schema)
