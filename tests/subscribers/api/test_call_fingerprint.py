"""Fingerprints of calls match for equal calls, and reveal nothing when stored."""

from typing import Any

import pytest
from django.test import RequestFactory

from api.idempotent_call import call_fingerprints
from idempotency.fingerprint import content_hash
from idempotency.models import PostedForm
from subscribers.api.reader_shapes import NewReader
from subscribers.models import Subscriber
from tests.newsletter_site.api_caller import Program
from tests.subscribers.importing.import_browser import someone

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


def fingerprint_of(query: str, path: str = "/api/v1/imports/", method: str = "POST") -> bytes:
    return call_fingerprints(RequestFactory().generic(method, f"{path}?{query}"), None)[0]


CALL = fingerprint_of("version=1&column=a")


@pytest.mark.parametrize(
    "query",
    [
        "",
        "version=1",
        "version=2&column=a",
        "version=1&column=b",
        "version=1&column=a&column=a",
        "version=1&column=b&column=a",
        "version=1&column=a&dry=true",
        "version=1&Column=a",
    ],
)
def test_a_call_with_another_query_is_another_call(query: str) -> None:
    assert fingerprint_of(query) != CALL


def test_path_and_method_matter_but_no_order_of_names() -> None:
    assert fingerprint_of("version=1&column=a", path="/api/v1/issues/") != CALL
    assert fingerprint_of("version=1&column=a", method="PATCH") != CALL
    assert fingerprint_of("column=a&version=1") == CALL


@pytest.mark.django_db(transaction=True)
def test_equal_keys_of_two_users_are_two_keys(program: Program) -> None:
    other = Program(someone("bela", "manage_readers"))
    mine = program.post("/readers/", BODY, key="k")
    theirs = other.post("/readers/", {**BODY, "address": "eva@posthouse.example.org"}, key="k")
    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert mine.json() != theirs.json()
    for person, answer in ((program, mine), (other, theirs)):
        rows = PostedForm.objects.filter(user_id=person.person.pk, idempotency_key="k")
        assert bytes(rows.get().response_body or b"") == answer.content


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
