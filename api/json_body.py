"""
Reading a body of JSON: the only place that decides what is readable. What is not gets one sentence.

Refused is what a database or a mail could not hold (NUL characters, halves of a surrogate pair),
what programs read differently (a name twice in one object, NaN) and what is nested without end.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict
from ninja.parser import Parser

from api.problem import Fault, Kind, ProblemError
from delivery.control_characters import CONTROL_CHARACTERS

# No call of ours is nested deeper than a list in an object.
DEEPEST = 8
LONGEST_NAME_SHOWN = 60
_SURROGATE = re.compile("[\ud800-\udfff]")
# Whole numbers up to here are the same in every program that reads JSON.
LARGEST_WHOLE = 2**53 - 1


class StrictParser(Parser):
    """Reads bodies as above, and queries of one line in which every name stands once."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The body. Raises `ProblemError`."""
        if request.content_type != "application/json":
            raise ProblemError(
                Kind.NOT_A_MEDIA_TYPE,
                "The body is not said to be JSON; Content-Type: application/json is expected.",
            )
        return read_json(request.body)

    def parse_querydict(
        self, data: MultiValueDict[str, Any], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        """
        The query. Raises `ProblemError` where a name stands in it twice, or a control character.
        """
        for name, values in data.lists():
            if len(values) > 1 and name not in list_fields:
                raise ProblemError(
                    Kind.NOT_VALID,
                    "One name stands twice in the query; each is given once.",
                    faults=[Fault(shown(name), "It is given more than once.")],
                )
            if any(CONTROL_CHARACTERS.search(value) for value in values):
                _not_valid(name, "It holds a control character or a line break; take it out.")
        return super().parse_querydict(data, list_fields, request)


def read_json(body: bytes) -> Any:
    """The value that `body` spells. Raises `ProblemError` with one sentence."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        _not_readable("The body is not UTF-8; JSON in UTF-8 is expected.")
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        _too_deep()
    except json.JSONDecodeError as error:
        _not_readable(
            f"The body is not JSON: at line {error.lineno}, column {error.colno}, something else "
            "stands."
        )
    except ValueError:
        _not_readable("A number in the body has more digits than can be read.")
    return _sound(value, "", 0)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ProblemError(
                Kind.NOT_VALID,
                "One name stands twice in an object; each is given once.",
                faults=[Fault(shown(name), "It is given more than once.")],
            )
        found[name] = value
    return found


def _no_constant(name: str) -> NoReturn:
    _not_readable(f"{name} is no number that JSON has.")


def _sound(value: Any, at: str, depth: int) -> Any:
    """The same value, with 2.0 as the whole number that it is."""
    if depth > DEEPEST:
        _too_deep()
    match value:
        case str():
            _sound_text(value, at)
        case float():
            if not math.isfinite(value):
                _not_valid(at, "The number is larger than can be read.")
            if value.is_integer() and abs(value) <= LARGEST_WHOLE:
                return int(value)
        case dict():
            for name in value:
                _sound_text(name, shown(name))
            return {
                name: _sound(inner, f"{at}.{name}" if at else name, depth + 1)
                for name, inner in value.items()
            }
        case list():
            return [_sound(inner, f"{at}.{place}", depth + 1) for place, inner in enumerate(value)]
    return value


def _sound_text(text: str, at: str) -> None:
    if "\0" in text:
        _not_valid(at, "It holds a NUL character, which no text can; remove it.")
    if _SURROGATE.search(text):
        _not_valid(at, "It holds half of a character (a lone surrogate); send it whole.")


def _not_valid(at: str, sentence: str) -> NoReturn:
    raise ProblemError(
        Kind.NOT_VALID,
        f"“{shown(at)}”: {sentence}" if at else sentence,
        faults=[Fault(shown(at) or "body", sentence)],
    )


def _not_readable(sentence: str) -> NoReturn:
    raise ProblemError(Kind.NOT_READABLE, sentence)


def _too_deep() -> NoReturn:
    _not_readable(f"The body is nested too deeply; at most {DEEPEST} levels are read.")


def shown(name: str) -> str:
    """A name as it is given back: printable, and not long."""
    printable = "".join(sign if sign.isprintable() else "\ufffd" for sign in name)
    return printable if len(printable) <= LONGEST_NAME_SHOWN else f"{printable[:59]}…"
