"""Read bodies and queries strictly.

The parser refuses NUL characters, lone surrogates, repeated names and deep nesting.
"""

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

# The body of a valid call is an object that may contain lists, so no valid call reaches this
# depth.
DEEPEST = 8
LONGEST_NAME_SHOWN = 60
_SURROGATE = re.compile("[\ud800-\udfff]")
LARGEST_SAFE_INTEGER = 2**53 - 1  # up to this integer, every program reads JSON exactly

Run = Callable[..., HttpResponseBase]


class StrictParser(Parser):
    """Read bodies strictly; refuse queries with line breaks or repeated names."""

    def parse_body(self, request: HttpRequest) -> Any:
        if request.content_type != "application/json":
            raise ProblemError(
                ProblemType.NOT_A_MEDIA_TYPE,
                "The body is not declared as JSON. Send Content-Type: application/json.",
            )
        return read_json(request.body)

    def parse_querydict(
        self, data: MultiValueDict[str, Any], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        """Read the query. Raise `ProblemError` for a repeated name or a control character."""
        for name, values in data.lists():
            if len(values) > 1 and name not in list_fields:
                _repeated(name, "the query")
            if any(CONTROL_CHARACTERS.search(value) for value in values):
                _not_valid(name, "It contains a control character or a line break. Remove it.")
        return super().parse_querydict(data, list_fields, request)


def refuse_unknown_queries(run: Run) -> Run:
    """Decorate an operation to refuse unknown query parameters.

    Use this decorator with ninja's `add_decorator(…, mode="view")`.
    """
    operation: Operation = run.__self__  # type: ignore[attr-defined]  # a method of an `Operation`
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
        expected = "This call has no query parameters."
        if known:
            expected = f"Use: {', '.join(sorted(known))}."
        problem = ProblemError(
            ProblemType.NOT_VALID,
            f"“{unknown[0]}” in the query is unknown. {expected}",
            errors=[FieldError(name, "It is unknown.") for name in unknown[:20]],
        )
        return operation.api.on_exception(request, problem)

    return checked


def read_json(body: bytes) -> Any:
    """Read a JSON value. Raise `ProblemError` if the body is not valid JSON."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        _not_readable("The body is not UTF-8. Send JSON in UTF-8.")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=lambda name: _not_readable(f"{name} is not a JSON number."),
        )
    except RecursionError:
        _too_deep()
    except json.JSONDecodeError as error:
        _not_readable(
            f"The body is not valid JSON. The error is at line {error.lineno}, column "
            f"{error.colno}."
        )
    except ValueError:
        _not_readable("A number in the body has too many digits.")
    return _checked(value, "", 0)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            _repeated(name, "an object")
        found[name] = value
    return found


def _checked(value: Any, path: str, depth: int) -> Any:
    """Check the value and return it. A float such as 2.0 becomes an integer."""
    if depth > DEEPEST:
        _too_deep()
    match value:
        case str():
            _check_text(value, path)
        case float():
            if not math.isfinite(value):
                _not_valid(path, "The number is too large.")
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
        _not_valid(path, "It contains a NUL character. Remove it.")
    if _SURROGATE.search(text):
        _not_valid(path, "It contains half of a character (a lone surrogate). Send both halves.")


def _not_valid(path: str, sentence: str) -> NoReturn:
    raise ProblemError(
        ProblemType.NOT_VALID,
        f"“{shorten_name(path)}”: {sentence}" if path else sentence,
        errors=[FieldError(shorten_name(path) or "body", sentence)],
    )


def _repeated(name: str, where: str) -> NoReturn:
    raise ProblemError(
        ProblemType.NOT_VALID,
        f"“{shorten_name(name)}” occurs more than once in {where}. Send it once.",
        errors=[FieldError(shorten_name(name), "It occurs more than once.")],
    )


def _not_readable(sentence: str) -> NoReturn:
    raise ProblemError(ProblemType.NOT_READABLE, sentence)


def _too_deep() -> NoReturn:
    _not_readable(f"The body is nested too deeply. Use at most {DEEPEST} levels.")


def shorten_name(name: str) -> str:
    """Make a name printable and short, so that a response can contain it."""
    printable = "".join(sign if sign.isprintable() else "\ufffd" for sign in name)
    return printable if len(printable) <= LONGEST_NAME_SHOWN else f"{printable[:59]}…"
