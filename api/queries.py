"""A name in a query that an operation does not know is refused, like an unknown field of a body."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja.operation import Operation

from api.json_body import shown
from api.problem import Fault, Kind, ProblemError

Run = Callable[..., HttpResponseBase]


def only_known_queries(run: Run) -> Run:
    """Decorator for how ninja runs an operation (`add_decorator(…, mode="view")`)."""
    operation: Operation = run.__self__  # type: ignore[attr-defined]  # a bound method of it
    known = {
        name
        for model in operation.models
        if model.__ninja_param_source__ == "query"
        for name in model.__ninja_flatten_map__
    }

    @wraps(run)
    def checked(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        unknown = sorted(set(request.GET) - known)
        if unknown:
            expected = f"known are {', '.join(sorted(known))}" if known else "none is known here"
            return operation.api.on_exception(
                request,
                ProblemError(
                    Kind.NOT_VALID,
                    f"“{shown(unknown[0])}” in the query is not known; {expected}.",
                    faults=[Fault(shown(name), "It is not known here.") for name in unknown[:20]],
                ),
            )
        return run(request, **kwargs)

    return checked
