"""Read bodies and queries strictly: no NUL, no lone surrogate, no name twice, no deep nesting."""

import json
import math
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.datastructures import MultiValueDict
from ninja.operation import Operation
from ninja.parser import Parser

from api.problem import FieldError, ProblemError, ProblemType
from delivery.control_characters import CONTROL_CHARACTERS

# No call of ours is nested deeper than a list in an object.
DEEPEST = 8
LONGEST_NAME_SHOWN = 60
_SURROGATE = re.compile("[\ud800-\udfff]")
LARGEST_SAFE_INTEGER = 2**53 - 1  # the same in every program that reads JSON

Run = Callable[..., HttpResponseBase]


class StrictParser(Parser):
    """Read bodies as above, and queries of one line in which no name occurs twice."""

    def parse_body(self, request: HttpRequest) -> Any:
        if request.content_type != "application/json":
            raise ProblemError(
                ProblemType.NOT_A_MEDIA_TYPE,
                "The body is not said to be JSON; Content-Type: application/json is expected.",
            )
        return read_json(request.body)

    def parse_querydict(
        self, data: MultiValueDict[str, Any], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        """Read the query. Raises `ProblemError` for a repeated name or a control character."""
        for name, values in data.lists():
            if len(values) > 1 and name not in list_fields:
                _repeated(name, "the query")
            if any(CONTROL_CHARACTERS.search(value) for value in values):
                _not_valid(name, "It holds a control character or a line break; take it out.")
        return super().parse_querydict(data, list_fields, request)


def refuse_unknown_queries(run: Run) -> Run:
    """Decorate how ninja runs an operation (`add_decorator(…, mode="view")`)."""
    operation: Operation = run.__self__  # type: ignore[attr-defined]  # a bound method of it
    known = {
        name
        for model in operation.models
        if model.__ninja_param_source__ == "query"
        for name in model.__ninja_flatten_map__
    }

    @wraps(run)
    def checked(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        unknown = sorted(map(shorten_name, set(request.GET) - known))
        if not unknown:
            return run(request, **kwargs)
        expected = f"known are {', '.join(sorted(known))}" if known else "none is known here"
        problem = ProblemError(
            ProblemType.NOT_VALID,
            f"“{unknown[0]}” in the query is not known; {expected}.",
            errors=[FieldError(name, "It is not known here.") for name in unknown[:20]],
        )
        return operation.api.on_exception(request, problem)

    return checked


def read_json(body: bytes) -> Any:
    """Read a value. Raises `ProblemError` with one sentence."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        _not_readable("The body is not UTF-8; JSON in UTF-8 is expected.")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=lambda name: _not_readable(f"{name} is no number that JSON has."),
        )
    except RecursionError:
        _too_deep()
    except json.JSONDecodeError as error:
        _not_readable(
            f"The body is not JSON: at line {error.lineno}, column {error.colno}, something else "
            "stands."
        )
    except ValueError:
        _not_readable("A number in the body has more digits than can be read.")
    return _checked(value, "", 0)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            _repeated(name, "an object")
        found[name] = value
    return found


def _checked(value: Any, path: str, depth: int) -> Any:
    """Return the value, with a float such as 2.0 as an integer."""
    if depth > DEEPEST:
        _too_deep()
    match value:
        case str():
            _check_text(value, path)
        case float():
            if not math.isfinite(value):
                _not_valid(path, "The number is larger than can be read.")
            if value.is_integer() and abs(value) <= LARGEST_SAFE_INTEGER:
                return int(value)
        case dict():
            for name in value:
                _check_text(name, shorten_name(name))
            return {
                name: _checked(inner, f"{path}.{name}" if path else name, depth + 1)
                for name, inner in value.items()
            }
        case list():
            return [_checked(inner, f"{path}.{n}", depth + 1) for n, inner in enumerate(value)]
    return value


def _check_text(text: str, path: str) -> None:
    if "\0" in text:
        _not_valid(path, "It holds a NUL character, which no text can; remove it.")
    if _SURROGATE.search(text):
        _not_valid(path, "It holds half of a character (a lone surrogate); send it whole.")


def _not_valid(path: str, sentence: str) -> NoReturn:
    raise ProblemError(
        ProblemType.NOT_VALID,
        f"“{shorten_name(path)}”: {sentence}" if path else sentence,
        errors=[FieldError(shorten_name(path) or "body", sentence)],
    )


def _repeated(name: str, where: str) -> NoReturn:
    raise ProblemError(
        ProblemType.NOT_VALID,
        f"One name stands twice in {where}; each is given once.",
        errors=[FieldError(shorten_name(name), "It is given more than once.")],
    )


def _not_readable(sentence: str) -> NoReturn:
    raise ProblemError(ProblemType.NOT_READABLE, sentence)


def _too_deep() -> NoReturn:
    _not_readable(f"The body is nested too deeply; at most {DEEPEST} levels are read.")


def shorten_name(name: str) -> str:
    """Return a name as it is sent back: printable, and not long."""
    printable = "".join(sign if sign.isprintable() else "\ufffd" for sign in name)
    return printable if len(printable) <= LONGEST_NAME_SHOWN else f"{printable[:59]}…"
