"""Wherever it is said how a reader came, whoever was added through the API came by a program."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from subscribers.models import Subscriber
from subscribers.reader_file import lines_of
from subscribers.record import record_of
from subscribers.record_words import in_words
from tests.newsletter_site.calling import Program

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def program() -> Program:
    """A program that may add readers."""
    return Program(get_user_model().objects.create_superuser("mona"))


@pytest.mark.parametrize("stated", [{}, {"confirmed": True, "where": "Signed at the fair"}])
def test_a_reader_added_by_a_program_did_not_sign_up(
    program: Program, stated: dict[str, Any]
) -> None:
    number = program.post("/readers/", {"address": "ada@posthouse.example.org", **stated}).json()[
        "reader"
    ]

    assert program.get(f"/readers/{number}/").json()["came_by"] == "API"
    exported = list(csv.DictReader(io.StringIO("".join(lines_of(Subscriber.objects.all())))))
    assert [line["came_by"] for line in exported] == ["API"]
    record = record_of(number)
    assert record is not None
    assert json.loads(record.as_json())["came_by"] == "api"
    assert in_words(record).came_by == "by a program"
