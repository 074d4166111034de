"""Reasons: stored as a code with parameters, rendered as sentences."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from delivery.django_mail.django_mail_provider import REMEDIES as MAIL_SERVER_REMEDIES
from delivery.postmark.remedy_sentences import REMEDIES as POSTMARK_REMEDIES
from delivery.reports.reason_sentences import REMEDIES, RENDERERS, SENTENCES, reason_sentence
from delivery.rules.reason import Reason, ReasonCode, Remedy

NOON = datetime(2026, 9, 24, 12, tzinfo=UTC)
# A value for each parameter of any reason.
PARAMS = {
    "address": "https://postmark.example",
    "answered": 1,
    "count": 30,
    "crashes": 2,
    "error": "ReadTimeout",
    "error_code": 429,
    "handling": "Custom",
    "issue": str(UUID(int=1)),
    "last": Reason.of(ReasonCode.MAINTENANCE),
    "left": 1000,
    "limit": 3,
    "local": "2026-09-24T14:00",
    "message_ids": ["m-1", "m-2"],
    "percent": 3.04,
    "recipient": 7,
    "remedy": Remedy.TOKEN,
    "rules": ["events", "looks"],
    "scheduled_for": NOON.isoformat(),
    "sent": 2,
    "started_at": NOON.isoformat(),
    "status": 502,
    "stream": "letters",
    "subject": "search",
    "text": "Too many requests",
    "tries": 10,
    "zone": "Europe/Berlin",
}


def test_tables_name_every_code_once() -> None:
    assert {*SENTENCES, *RENDERERS} == set(ReasonCode) - {ReasonCode.OTHER}
    assert not set(SENTENCES) & set(RENDERERS)
    assert {*REMEDIES, *POSTMARK_REMEDIES, *MAIL_SERVER_REMEDIES} == set(Remedy)
    assert not set(REMEDIES) & {*POSTMARK_REMEDIES, *MAIL_SERVER_REMEDIES}


@pytest.mark.parametrize("code", ReasonCode)
def test_every_code_has_a_sentence(code: ReasonCode) -> None:
    sentence = reason_sentence(Reason.of(code, **PARAMS))
    assert sentence != reason_sentence(Reason(f"new_{code}", PARAMS))
    assert "{" not in sentence
    assert sentence.endswith("must be the token of a Postmark server.")


@pytest.mark.parametrize("remedy", Remedy)
def test_every_remedy_has_a_sentence(remedy: Remedy, settings: Any) -> None:
    if remedy not in {*REMEDIES, *POSTMARK_REMEDIES}:
        settings.MAIL_PROVIDER = "django"
        settings.EMAIL_HOST = "smtp.example.org"
    refused = Reason.of(ReasonCode.TOKEN_REFUSED)
    assert reason_sentence(refused.with_params(remedy=remedy)).startswith(
        f"{reason_sentence(refused)} "
    )


@pytest.mark.parametrize(
    "reason",
    [
        Reason.of(ReasonCode.LEFT),
        Reason.of(ReasonCode.PROVIDER_ERROR, error_code=300, text="“Ünüsual” \\ {braces}"),
        Reason.of(
            ReasonCode.TRIES_USED_UP,
            tries=10,
            last=Reason.of(ReasonCode.STATUS_AMBIGUOUS, status=502),
        ),
    ],
    ids=lambda reason: reason.code,
)
def test_stored_reason_is_read_back(reason: Reason) -> None:
    assert Reason.loads(reason.dumps()) == reason


def test_reason_of_a_newer_version_is_kept() -> None:
    newer = Reason("moon_in_the_way", {"phase": 0.5})
    assert Reason.loads(newer.dumps()) == newer
    assert reason_sentence(newer) == "Moon in the way."


@pytest.mark.parametrize("text", ["Written by hand.", "[1]", "{}", "7"])
def test_unknown_text_is_shown_unchanged(text: str) -> None:
    assert reason_sentence(Reason.loads(text)) == text


def test_empty_column_is_not_a_reason() -> None:
    assert Reason.loads("") is None
    assert Reason.loads(None) is None
    assert reason_sentence(None) == ""
