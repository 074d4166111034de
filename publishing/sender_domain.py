"""The domain that mail is sent from, as its name servers said when it was last looked at. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parseaddr
from typing import Any
from zoneinfo import ZoneInfo

from delivery.health import Line, clock

NAME = "Sender domain"
_POLICY = re.compile(r"\bp\s*=\s*(none|quarantine|reject)\b", re.IGNORECASE)


def domain_of(sender: str) -> str:
    """The domain of a sender such as `Homing <letter@example.org>`."""
    return parseaddr(sender)[1].rpartition("@")[2].lower()


def line_of(
    domain: str,
    found: Mapping[str, Any] | None,
    looked_at: datetime | None,
    *,
    now: datetime,
    zone: ZoneInfo,
) -> Line:
    """What is known of it. `found` is what was kept of the last look, None before the first."""
    if found is None or looked_at is None:
        more = f"{domain} is looked at when an issue is checked before it is published"
        return Line(NAME, "waiting", "calm", "Not looked at yet", more)
    at = f"{domain}, looked at {clock(looked_at, now, zone)}"
    dkim, dmarc = _said(found, "dkim"), _said(found, "dmarc")
    if dkim == "no answer":
        return Line(NAME, "unknown", "doubt", "No name server answered", at)
    if dkim != "found":
        return Line(NAME, "attention", "doubt", "No DKIM key was found", at)
    if dmarc == "no answer":
        policy = "no name server answered for DMARC"
    elif dmarc == "found":
        policy = f"DMARC is “{_policy(found)}”"
    else:
        policy = "there is no DMARC policy"
    return Line(NAME, "sent", "sent", "DKIM is found", f"{policy}; {at}")


def _said(found: Mapping[str, Any], what: str) -> str:
    answer = found.get(what)
    return str(answer.get("said", "")) if isinstance(answer, Mapping) else ""


def _policy(found: Mapping[str, Any]) -> str:
    values = found["dmarc"].get("values") or ()
    match = next(filter(None, map(_POLICY.search, map(str, values))), None)
    return match[1].lower() if match else "not readable"
