"""Refuse a name in a query that an operation does not know, like an unknown field of a body."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja.operation import Operation

from api.json_body import shorten_name
from api.problem import FieldError, ProblemError, ProblemType

Run = Callable[..., HttpResponseBase]


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
