"""The delivery key in a mail can be parsed, and any other text is refused."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.delivery_key import DeliveryKey, read

ISSUE = uuid.UUID("0d9c8b7a-6f5e-4d3c-8b1a-09f8e7d6c5b4")
TEXT = "0d9c8b7a6f5e4d3c8b1a09f8e7d6c5b4.2.731"


def test_the_key_names_issue_version_and_recipient() -> None:
    assert str(DeliveryKey(ISSUE, 2, 731)) == TEXT
    assert read(TEXT) == DeliveryKey(ISSUE, 2, 731)


@given(st.uuids(), st.integers(1, 10**9 - 1), st.integers(0, 10**18 - 1))
def test_every_key_fits_and_is_read_back(issue: uuid.UUID, version: int, recipient: int) -> None:
    key = DeliveryKey(issue, version, recipient)
    assert read(str(key)) == key
    assert len(str(key)) <= 80


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT.upper(),
        TEXT[1:],
        f"{TEXT}\n",
        TEXT.replace(".731", ".0731"),
        TEXT.replace(".731", ".-1"),
        TEXT.replace(".731", ".٣"),
        TEXT.replace(".731", "." + "9" * 19),
        TEXT.replace(".731", ""),
        TEXT.replace(".2.", ".0."),
        TEXT.replace(".2.", ".1234567890."),
        str(ISSUE) + ".2.731",
    ],
)
def test_other_texts_are_not_a_key(text: str) -> None:
    assert read(text) is None
