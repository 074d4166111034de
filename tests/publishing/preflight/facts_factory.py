"""Facts in which everything is well; a test names what is not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from publishing.content.edition_content import Content
from publishing.external_checks.domain_records import DomainRecords, Records, Said
from publishing.preflight.facts import Facts, TestSent
from publishing.preflight.parse_letter import read_letter
from publishing.preflight.run_checks import Findings, findings_of

NOW = datetime(2026, 9, 17, 6, 0, tzinfo=UTC)
LETTER = "<p>They came on the 30th of April.</p><p>Dear {{ name|reader }}, they have gone.</p>"


def records(*values: str) -> Records:
    return Records(Said.FOUND, values) if values else Records(Said.NOTHING)


def domain(**otherwise: Any) -> DomainRecords:
    well = {
        "texts": records("v=spf1 include:spf.mtasv.net ~all"),
        "dkim": records("k=rsa; p=MIGf"),
        "return_path": records("pm.mtasv.net"),
        "dmarc": records("v=DMARC1; p=reject"),
        "dmarc_at": "almanack.org",
    }
    return DomainRecords("almanack.org", **{**well, **otherwise})


def facts(letter: str = LETTER, title: str = "Swifts leave", **otherwise: Any) -> Facts:
    text = otherwise.pop("text", "They came, and they have gone.")
    preheader = otherwise.pop("preheader", "Where they are now")
    well: dict[str, Any] = {
        "content": Content.from_input(title, letter, text, preheader),
        "letter": read_letter(letter),
        "is_markdown": False,
        "own_text": False,
        "html_mail": f"<html>{letter}</html>",
        "text_mail": text,
        "zone": ZoneInfo("Europe/Lisbon"),
        "now": NOW,
        "site_url": "https://letters.almanack.org",
        "sender": "Edith Marlow <letter@almanack.org>",
        "newsletter": "The Hedgerow Almanack",
        "is_named": True,
        "language": "en",
        "postal_address": "3 Mill Lane, Selborne",
        "adds_unsubscribe_link": True,
        "readers": 52_418,
        "would_stand": "It would stand in the archive.",
        "without_value": {"name": 0},
        "test": TestSent("edith@almanack.org", datetime(2026, 9, 17, 5, 50, tzinfo=UTC)),
        "domain": domain(),
        "domain_looked_at": NOW,
    }
    return Facts(**{**well, **otherwise})


def found(*args: Any, **otherwise: Any) -> Findings:
    return findings_of(facts(*args, **otherwise))


def sentences(findings: Any) -> list[str]:
    return [f"{finding.sentence} {finding.code}".strip() for finding in findings]
