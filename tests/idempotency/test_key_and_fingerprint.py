"""Reading and checking keys, and comparing forms."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import RequestFactory

from idempotency.fingerprint import FileDigest, content_hash, form_hash
from idempotency.key import KEY_PATTERN, InvalidKey, fresh_key, read_key


@pytest.mark.parametrize(("fields", "header"), [(["abc"], None), ([], "abc"), (["abc"], "abc")])
def test_the_key_comes_from_the_hidden_field_or_the_header(fields, header):
    assert read_key(fields, header) == "abc"


@pytest.mark.parametrize(
    ("fields", "header"),
    [(["abc"], "abd"), (["abc", "abd"], None), ([""], "abc"), (["abc"], "ABC")],
)
def test_two_different_keys_are_refused(fields, header):
    answer = read_key(fields, header)
    assert isinstance(answer, InvalidKey)
    assert "two different idempotency keys" in answer.reason


@pytest.mark.parametrize("key", ["a", "a" * 49, "~", "!", "two words", "x<&\"'>y"])
def test_1_to_49_printable_ascii_characters_are_a_key(key):
    assert read_key([key], None) == key
    assert re.search(KEY_PATTERN, key)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (None, "has no idempotency key"),
        ("", "has no idempotency key"),
        ("a" * 50, "has 50 characters"),
        ("ü", "not printable ASCII"),
        ("a\tb", "not printable ASCII"),
        ("a\n", "not printable ASCII"),
        ("a\x00b", "not printable ASCII"),
        ("a\x7f", "not printable ASCII"),
        (" a", "starts or ends with a space"),
        ("a ", "starts or ends with a space"),
        (" ", "starts or ends with a space"),
    ],
)
def test_other_keys_are_refused_with_the_reason(key, reason):
    answer = read_key([] if key is None else [key], None)
    assert isinstance(answer, InvalidKey)
    assert reason in answer.reason
    # Use \Z, because Python's $ also matches before a final line end, unlike PostgreSQL's $.
    assert not re.search(KEY_PATTERN.replace("$", r"\Z"), key or "")


def test_fresh_keys_are_valid_and_unique():
    keys = {fresh_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(read_key([key], None) == key for key in keys)


THE_FORM = content_hash("POST", "/leaflets/", {"title": ["Hello"], "text": ["a\nb"]})


@pytest.mark.parametrize("text", ["a\r\nb", "a\rb"])
def test_line_ends_and_field_order_do_not_matter(text):
    assert content_hash("POST", "/leaflets/", {"text": [text], "title": ["Hello"]}) == THE_FORM
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
def test_other_content_has_another_fingerprint(method, path, fields):
    assert content_hash(method, path, fields) != THE_FORM


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": ["x", "y"]}, {"a": ["xy"]}),
        ({"a": ["x", "y"]}, {"a": ['x","y']}),
        ({"a": ["x"], "b": ["y"]}, {"a": ["x", "b", "y"]}),
        ({"a": ["x"], "b": []}, {"a": [], "b": ["x"]}),
        ({"a": ["ä"]}, {"a": ["\\u00e4"]}),
        ({"a": [FileDigest("n", "s")]}, {"a": ['{"name":"n","sha256":"s"}']}),
    ],
)
def test_similar_values_have_different_fingerprints(one, other):
    assert content_hash("POST", "/", one) != content_hash("POST", "/", other)


def post(path: str = "/leaflets/", **data: object) -> bytes:
    return form_hash(RequestFactory().post(path, data), ["title", "picture"])


def test_ignored_fields_do_not_change_the_fingerprint():
    assert post(title="Hello", csrfmiddlewaretoken="a") == post(
        title="Hello", csrfmiddlewaretoken="b"
    )


def test_a_file_counts_by_name_and_content(settings):
    # Accept uploads with Django's own handler, as another site would, not with Homing's handler.
    settings.FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]

    def picture(name: str, content: bytes) -> SimpleUploadedFile:
        return SimpleUploadedFile(name, content)

    once = post(title="Hello", picture=picture("a.png", b"123"))

    assert post(title="Hello", picture=picture("a.png", b"123")) == once
    assert post(title="Hello", picture=picture("a.png", b"124")) != once
    assert post(title="Hello", picture=picture("b.png", b"123")) != once
    assert post(title="Hello") != once
    request = RequestFactory().post("/", {"picture": picture("a.png", b"123")})
    form_hash(request, ["picture"])
    assert request.FILES["picture"].read() == b"123"
