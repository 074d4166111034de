"""Fingerprints of calls: equal calls match, and stored ones reveal nothing."""

from typing import Any

import pytest
from django.test import RequestFactory

from api.idempotent_call import call_fingerprints
from idempotency.fingerprint import content_hash
from idempotency.models import PostedForm
from subscribers.api.shapes import NewReader
from subscribers.models import Subscriber
from tests.newsletter_site.api_caller import Program

ADA = "ada@posthouse.example.org"
BODY = {"address": ADA, "name": "Ada"}


class NewReaderOfALaterRelease(NewReader):
    """A reader of a later release, with one more optional field."""

    street: str = ""
    tags: list[str] = []


def fingerprints(body: NewReader) -> list[bytes]:
    return call_fingerprints(RequestFactory().post("/api/v1/readers/"), body)


def test_a_new_field_keeps_the_fingerprint_of_earlier_calls() -> None:
    before = fingerprints(NewReader.model_validate(BODY))
    assert fingerprints(NewReaderOfALaterRelease.model_validate(BODY)) == before
    with_it = {**BODY, "street": "Quay 3"}
    assert fingerprints(NewReaderOfALaterRelease.model_validate(with_it)) != before


def test_a_default_value_equals_a_missing_field() -> None:
    spelled_out = {**BODY, "confirmed": False, "where": ""}
    assert fingerprints(NewReader.model_validate(spelled_out)) == fingerprints(
        NewReader.model_validate(BODY)
    )


@pytest.mark.django_db(transaction=True)
def test_a_fallback_key_still_recognises_earlier_calls(program: Program, settings: Any) -> None:
    first = program.post("/readers/", BODY, key="k")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, made after the first one leaked"
    assert program.post("/readers/", BODY, key="k").content == first.content
    assert program.post("/readers/", {**BODY, "name": "Eva"}, key="k").status_code == 422
    assert Subscriber.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_stored_fingerprints_reveal_no_address_without_the_secret_key(
    program: Program, settings: Any
) -> None:
    program.post("/readers/", BODY, key="k")
    kept = bytes(PostedForm.objects.get().request_fingerprint)
    values = {"files": [], "query": [], "body.address": ["text", ADA], "body.name": ["text", "Ada"]}
    assert kept != content_hash("POST", "/api/v1/readers/", values)
    settings.SECRET_KEY = "a key that somebody tries who does not know ours"
    guesses = fingerprints(NewReader.model_validate(BODY))
    assert kept not in guesses
