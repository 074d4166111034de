"""Which calls are the same under one key, and that what is kept to tell them tells nobody else."""

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
    """A reader as the next release may take them: with one more field, that need not be given."""

    street: str = ""
    tags: list[str] = []


def fingerprints(body: NewReader) -> list[bytes]:
    return call_fingerprints(RequestFactory().post("/api/v1/readers/"), body)


def test_a_release_that_adds_a_field_takes_a_call_from_before_for_the_same() -> None:
    before = fingerprints(NewReader.model_validate(BODY))
    assert fingerprints(NewReaderOfALaterRelease.model_validate(BODY)) == before
    with_it = {**BODY, "street": "Quay 3"}
    assert fingerprints(NewReaderOfALaterRelease.model_validate(with_it)) != before


def test_a_field_at_its_default_and_one_left_out_are_the_same() -> None:
    spelled_out = {**BODY, "confirmed": False, "where": ""}
    assert fingerprints(NewReader.model_validate(spelled_out)) == fingerprints(
        NewReader.model_validate(BODY)
    )


@pytest.mark.django_db(transaction=True)
def test_a_call_is_known_again_under_a_new_secret_key_while_the_old_one_is_a_fallback(
    program: Program, settings: Any
) -> None:
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
