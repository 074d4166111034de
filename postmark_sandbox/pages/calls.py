"""The page of calls."""

from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Response
from postmark_sandbox.pages.layout import page
from postmark_sandbox.sandbox import Sandbox

SHOWN = 200


def show(sandbox: Sandbox, request: Request) -> Response:
    """`GET /calls`: the last calls, newest first."""
    return page(
        sandbox,
        "Calls",
        "calls.html",
        total=sandbox.calls.count,
        faulty=sum(sandbox.calls.counts()["by_fault"].values()),
        calls=sandbox.calls.newest_first(SHOWN),
    )
