"""A request that fails where Homing is run for real is in the log, and nobody's secrets are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

PROGRAM = """
import newsletter_site.wsgi
from django.test import Client
answer = Client(raise_request_exception=False).get(
    "/record/a-link-in-mail/", headers={"host": "letters.example.org"}, secure=True
)
print(answer.status_code)
"""


def said_by(tmp_path: Path, **variables: str) -> str:
    """What stands in the log after a request whose database is away."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=settings.BASE_DIR,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "newsletter_site.settings",
            "DEBUG": "off",
            "SECRET_KEY": "long-enough-" * 6 + "ABC123",
            "DATABASE_URL": "postgres://who:pass-word@/none",
            "POSTMARK_SERVER_TOKEN": "token",
            "SITE_URL": "https://letters.example.org",
            "PGHOST": str(tmp_path),
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stdout.strip() == "500", ended.stderr
    return ended.stderr


def test_it_says_what_was_asked_for_and_what_broke_where_and_no_address(tmp_path: Path) -> None:
    said = said_by(tmp_path)

    *_, fault, answered = map(json.loads, said.splitlines())
    assert fault["level"] == "error"
    assert fault["event"] == "Internal Server Error: /record/<str:token>/"
    assert fault["fault"].startswith("OperationalError, from OperationalError")
    assert any(place.startswith("subscribers/views/record.py:") for place in fault["places"])
    assert (answered["route"], answered["status"]) == ("/record/<str:token>/", 500)
    assert fault["request"] == answered["request"]


@pytest.mark.parametrize("shape", ["json", "lines"])
def test_neither_shape_says_the_address_or_the_words_of_the_fault(
    tmp_path: Path, shape: str
) -> None:
    said = said_by(tmp_path, LOG_FORMAT=shape)

    assert "OperationalError" in said
    assert "subscribers/views/record.py:" in said
    assert "a-link-in-mail" not in said
    assert "pass-word" not in said
    assert str(tmp_path) not in said
