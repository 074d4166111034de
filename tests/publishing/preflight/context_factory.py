"""Make a check context without findings; tests pass only values that differ."""

from datetime import UTC, datetime
from typing import Any

from delivery.mail.html_and_text import MailParts
from delivery.models import Newsletter
from publishing.content.edition_content import Content
from publishing.external_checks.cached_results import CachedResults
from publishing.external_checks.domain_records import DnsStatus, DomainRecords, Records
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Findings
from publishing.preflight.list_of_checks import run_checks
from publishing.preflight.parse_letter import ParsedLetter

NOW = datetime(2026, 9, 17, 6, 0, tzinfo=UTC)
LETTER = "<p>They came on the 30th of April.</p><p>Dear {{ name|reader }}, they have gone.</p>"


def records(*values: str) -> Records:
    return Records(DnsStatus.FOUND, values) if values else Records(DnsStatus.NO_RECORD)


def domain(**otherwise: Any) -> DomainRecords:
    well = {
        "texts": records("v=spf1 include:spf.mtasv.net ~all"),
        "dkim": records("k=rsa; p=MIGf"),
        "return_path": records("pm.mtasv.net"),
        "dmarc": records("v=DMARC1; p=reject"),
        "dmarc_at": "almanack.org",
    }
    return DomainRecords("almanack.org", **{**well, **otherwise})


def context(letter: str = LETTER, title: str = "Swifts leave", **otherwise: Any) -> CheckContext:
    text = otherwise.pop("text", "They came, and they have gone.")
    preview_text = otherwise.pop("preview_text", "Where they are now")
    content = Content.from_input(title=title, html=letter, text=text, preview_text=preview_text)
    well: dict[str, Any] = {
        "content": content,
        "letter": ParsedLetter(content.html),
        "is_markdown": False,
        "has_own_text": False,
        "mail": MailParts(
            otherwise.pop("html_mail", f"<html>{letter}</html>"), otherwise.pop("text_mail", text)
        ),
        "now": NOW,
        "site_url": "https://letters.almanack.org",
        "sender": "Edith Marlow <letter@almanack.org>",
        "newsletter": Newsletter(
            name=otherwise.pop("name", "The Hedgerow Almanack"),
            language=otherwise.pop("language", "en"),
            postal_address=otherwise.pop("postal_address", "3 Mill Lane, Selborne"),
            time_zone="Europe/Lisbon",
        ),
        "adds_unsubscribe_link": True,
        "readers": 52_418,
        "archive_note": "Everyone can read it in the archive.",
        "without_value": {"name": 0},
        "test": ("edith@almanack.org", datetime(2026, 9, 17, 5, 50, tzinfo=UTC)),
        "external": CachedResults(
            otherwise.pop("domain", domain()),
            otherwise.pop("domain_checked_at", NOW),
            otherwise.pop("links", {}),
            otherwise.pop("links_checked_at", None),
        ),
    }
    return CheckContext(**{**well, **otherwise})


def found(*args: Any, **otherwise: Any) -> Findings:
    return run_checks(context(*args, **otherwise))


def sentences(findings: Any) -> list[str]:
    return [one.sentence for one in findings]
