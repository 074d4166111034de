"""What makes two posted forms the same, and what does not (no database)."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import RequestFactory

from idempotency.fingerprint import UploadedContent, fingerprint, fingerprint_of

THE_FORM = fingerprint("POST", "/leaflets/", {"title": ["Hello"], "text": ["a\nb"]})


@pytest.mark.parametrize("text", ["a\r\nb", "a\rb"])
def test_line_ends_and_the_order_of_fields_make_no_difference(text):
    assert fingerprint("POST", "/leaflets/", {"text": [text], "title": ["Hello"]}) == THE_FORM
    assert len(THE_FORM) == 32


@pytest.mark.parametrize(
    ("method", "path", "fields"),
    [
        ("PUT", "/leaflets/", {"title": ["Hello"], "text": ["a\nb"]}),
        ("POST", "/posters/", {"title": ["Hello"], "text": ["a\nb"]}),
        ("POST", "/leaflets/", {"title": ["hello"], "text": ["a\nb"]}),
        ("POST", "/leaflets/", {"title": ["Hello "], "text": ["a\nb"]}),
        ("POST", "/leaflets/", {"title": ["Hello"], "text": ["a\n\nb"]}),
        ("POST", "/leaflets/", {"title": ["Hello"], "text": ["a b"]}),
        ("POST", "/leaflets/", {"text": ["Hello"], "title": ["a\nb"]}),
        ("POST", "/leaflets/", {"title": ["Hello"], "text": ["a\nb", ""]}),
        ("POST", "/leaflets/", {"title": ["Hello"], "text": []}),
        ("POST", "/leaflets/", {"title": ["Hello"]}),
    ],
)
def test_any_other_content_has_another_fingerprint(method, path, fields):
    assert fingerprint(method, path, fields) != THE_FORM


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": ["x", "y"]}, {"a": ["xy"]}),
        ({"a": ["x", "y"]}, {"a": ['x","y']}),
        ({"a": ["x"], "b": ["y"]}, {"a": ["x", "b", "y"]}),
        ({"a": ["x"], "b": []}, {"a": [], "b": ["x"]}),
        ({"a": ["ä"]}, {"a": ["\\u00e4"]}),
        ({"a": [UploadedContent("n", "s")]}, {"a": ['{"name":"n","sha256":"s"}']}),
    ],
)
def test_no_value_can_pass_for_something_else(one, other):
    assert fingerprint("POST", "/", one) != fingerprint("POST", "/", other)


def post(path: str = "/leaflets/", **data: object) -> bytes:
    return fingerprint_of(RequestFactory().post(path, data), ["title", "picture"])


def test_fields_that_do_not_matter_are_left_out():
    assert post(title="Hello", csrfmiddlewaretoken="a") == post(
        title="Hello", csrfmiddlewaretoken="b"
    )


@pytest.fixture
def takes_files(settings):
    """A page that takes files, as a site of others may have; our own has one, and a handler."""
    settings.FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]


@pytest.mark.usefixtures("takes_files")
def test_an_uploaded_file_counts_by_its_name_and_its_content():
    def picture(name: str, content: bytes) -> SimpleUploadedFile:
        return SimpleUploadedFile(name, content)

    once = post(title="Hello", picture=picture("a.png", b"123"))

    assert post(title="Hello", picture=picture("a.png", b"123")) == once
    assert post(title="Hello", picture=picture("a.png", b"124")) != once
    assert post(title="Hello", picture=picture("b.png", b"123")) != once
    assert post(title="Hello") != once


@pytest.mark.usefixtures("takes_files")
def test_an_uploaded_file_can_still_be_read_from_its_start():
    request = RequestFactory().post("/", {"picture": SimpleUploadedFile("a.png", b"123")})
    fingerprint_of(request, ["picture"])
    assert request.FILES["picture"].read() == b"123"
