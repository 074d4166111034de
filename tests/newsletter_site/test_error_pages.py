"""What is answered when something is wrong: one sentence, in the look of every page."""

from __future__ import annotations

import re

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from django.views import defaults


def words(answer: HttpResponse) -> str:
    return " ".join(
        re.sub(r"<defs>.*?</defs>|<[^>]+>", " ", answer.content.decode(), flags=re.S).split()
    )


@pytest.mark.django_db
def test_every_error_has_a_page_in_the_look(rf: RequestFactory) -> None:
    for view, status, heading in (
        (defaults.bad_request, 400, "This could not be read"),
        (defaults.permission_denied, 403, "This page is not open to you"),
        (defaults.page_not_found, 404, "There is nothing here"),
    ):
        answer = view(rf.get("/nowhere"), Exception("for nobody to read: 42"))
        assert answer.status_code == status
        assert f"<h1>{heading}</h1>" in answer.content.decode()
        assert "homing.css" in answer.content.decode()


def test_a_fault_of_ours_says_what_became_of_the_work_and_needs_no_database(
    rf: RequestFactory,
) -> None:
    answer = defaults.server_error(rf.get("/nowhere"))
    assert answer.status_code == 500
    assert "homing.css" in answer.content.decode()
    assert "it is published once, however often you press" in words(answer)
