"""Where a key is read from, and what it may look like (no database)."""

from __future__ import annotations

import re

import pytest

from idempotency.key import KEY_PATTERN, BadKey, fresh_key, key_given


@pytest.mark.parametrize(("fields", "header"), [(["abc"], None), ([], "abc"), (["abc"], "abc")])
def test_the_key_comes_from_the_hidden_field_or_the_header(fields, header):
    assert key_given(fields, header) == "abc"


@pytest.mark.parametrize(
    ("fields", "header"),
    [(["abc"], "abd"), (["abc", "abd"], None), ([""], "abc"), (["abc"], "ABC")],
)
def test_two_different_keys_are_refused(fields, header):
    answer = key_given(fields, header)
    assert isinstance(answer, BadKey)
    assert "two different idempotency keys" in answer.reason


@pytest.mark.parametrize("key", ["a", "a" * 49, "~", "!", "two words", "x<&\"'>y"])
def test_1_to_49_printable_ascii_characters_are_a_key(key):
    assert key_given([key], None) == key
    assert re.search(KEY_PATTERN, key)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (None, "without an idempotency key"),
        ("", "without an idempotency key"),
        ("a" * 50, "has 50 characters"),
        ("ü", "not printable ASCII"),
        ("a\tb", "not printable ASCII"),
        ("a\n", "not printable ASCII"),
        ("a\x00b", "not printable ASCII"),
        ("a\x7f", "not printable ASCII"),
        (" a", "starts or ends with a blank"),
        ("a ", "starts or ends with a blank"),
        (" ", "starts or ends with a blank"),
    ],
)
def test_anything_else_is_refused_with_the_reason(key, reason):
    answer = key_given([] if key is None else [key], None)
    assert isinstance(answer, BadKey)
    assert reason in answer.reason
    # Python's $ also matches before a last line end; PostgreSQL's does not.
    assert not re.search(KEY_PATTERN.replace("$", r"\Z"), key or "")


def test_a_fresh_key_is_a_key_and_never_the_same():
    keys = {fresh_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(key_given([key], None) == key for key in keys)
