"""An action in an address of the API that there is not: those there are are named."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from tests.newsletter_site.calling import Program

pytestmark = pytest.mark.django_db(transaction=True)

OF_EDITIONS = (
    "'resume', 'call-back', 'pause', 'send-now', 'send-to-missed', 'ask-again', 'send-doubtful', "
    "'close' or 'cancel'"
)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/issues/5b7c0f4e-3b0a-4c39-9d0e-0d1b8c1c7a11/stop-it/?version=1", OF_EDITIONS),
        ("/readers/17/stop-it/", "'unsubscribe', 'shut-out', 'let-in' or 'erase'"),
    ],
    ids=["of an edition", "of a reader"],
)
def test_those_that_there_are_are_named_and_what_was_sent_is_not(
    address: str, expected: str
) -> None:
    program = Program(get_user_model().objects.create_superuser("root"))

    answer = program.post(address)

    assert answer.status_code == 404
    assert answer.json()["detail"] == f"There is no such action; expected {expected}."
