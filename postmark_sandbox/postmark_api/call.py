"""Describe one API call, and read query parameters that several endpoints share."""

import sys
import time
from dataclasses import dataclass

from postmark_sandbox.faults.fault_rules import FaultRule
from postmark_sandbox.http import PostmarkError, Request
from postmark_sandbox.sandbox_state import Sandbox
from postmark_sandbox.state.accepted_messages import StoredRequest
from postmark_sandbox.state.call_log import LoggedCall
from postmark_sandbox.times import read_eastern

MAX_COUNT = 500
MAX_DEPTH = 10_000


@dataclass(slots=True)
class ApiCall:
    """A request, its fault if any, the id in its path, and its result."""

    sandbox: Sandbox
    request: Request
    fault: FaultRule | None = None
    id: str = ""
    messages: int = 0
    stored: StoredRequest | None = None

    def record_caller_gone(self) -> None:
        """Record that the caller did not wait for the response."""
        if self.stored is not None and not self.stored.unreported_by:
            self.sandbox.outbox.mark_unreported(self.stored, "caller_gone")

    def log(self, status: int, *, gone: bool) -> None:
        """Add the call to the log. With `gone`, the caller left before the response."""
        request = self.request
        if gone:
            self.record_caller_gone()
        logged = LoggedCall(
            at_ns=request.at_ns,
            method=request.method,
            path=request.path,
            route=request.path.replace(self.id, "{id}") if self.id else request.path,
            status=0 if gone else status,
            ms=(time.monotonic() - request.arrived) * 1000,
            messages=self.messages,
            accepted=0 if self.stored is None else self.stored.size,
            fault=self.fault.kind if self.fault is not None else "caller_gone" if gone else "",
        )
        self.sandbox.calls.add(logged)
        self.sandbox.gate.changed()


def paging(query: dict[str, str], code: int, what: str) -> tuple[int, int]:
    """Read the required `count` and `offset`; refuse wrong values with `code`."""
    found = {}
    invalid = f"{what} query is not valid:"
    for name, least in (("count", 1), ("offset", 0)):
        text = query.get(name, "")
        if not (text.isascii() and text.isdigit()) or int(text) < least:
            expected = f"is required and must be a whole number of at least {least}."
            raise PostmarkError(code, f"{invalid} '{name}' {expected}")
        found[name] = int(text)
    if found["count"] > MAX_COUNT:
        raise PostmarkError(code, f"{invalid} 'count' is limited to {MAX_COUNT}.")
    if sum(found.values()) > MAX_DEPTH:
        raise PostmarkError(code, f"{invalid} 'count' plus 'offset' is limited to {MAX_DEPTH}.")
    return found["count"], found["offset"]


def dates(query: dict[str, str], code: int, what: str) -> tuple[int, int]:
    """Read `fromdate` and `todate` as nanoseconds since 1970.

    Both dates are inclusive and in US Eastern time.
    """
    found: list[int] = []
    for name, default in (("fromdate", 0), ("todate", sys.maxsize)):
        text = query.get(name)
        at_ns = read_eastern(text, end_of_day=name == "todate") if text else default
        if at_ns is None:
            sentence = f"{what} query is not valid: '{name}' '{text}' is not a date."
            raise PostmarkError(code, sentence)
        found.append(at_ns)
    return found[0], found[1]
