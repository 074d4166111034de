"""A request that fails where Homing is run for real is in the log, and nobody's secrets are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

PROGRAM = """
import django
django.setup()
from django.test import Client
answer = Client(raise_request_exception=False).get(
    "/record/a-link-in-mail/", headers={"host": "letters.example.org"}, secure=True
)
print(answer.status_code)
"""


def test_it_says_what_was_asked_for_and_what_broke_where_and_no_address(tmp_path: Path) -> None:
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
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.stdout.strip() == "500", ended.stderr
    assert "ERROR GET /record/<str:token>/ was answered 500" in ended.stderr
    assert "because of OperationalError" in ended.stderr
    assert "subscribers/views/record.py:" in ended.stderr
    assert "a-link-in-mail" not in ended.stderr
    assert "pass-word" not in ended.stderr
