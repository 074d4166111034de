"""Failed requests are logged without secrets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

pytestmark = pytest.mark.process

# A request with an unknown character set, as a web server passes it on. Django decodes the query
# with this character set before the request object exists, and this must not fail.
PROGRAM = """
import io
from newsletter_site.wsgi import application
asked = {
    "REQUEST_METHOD": "GET", "PATH_INFO": "/record/a-link-in-mail/", "wsgi.url_scheme": "https",
    "HTTP_HOST": "letters.example.org", "wsgi.input": io.BytesIO(), "SERVER_PORT": "443",
    "QUERY_STRING": "why=asked", "CONTENT_TYPE": "application/x-www-form-urlencoded; charset=hex",
}
answer = application(asked, lambda status, headers, error=None: print(status[:3]))
answer.close()
"""


def run(tmp_path: Path, program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a short program outside debug mode, with an unreachable database."""
    return subprocess.run(
        [sys.executable, "-c", program],
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


@pytest.mark.parametrize("shape", ["json", "lines"])
def test_a_failed_request_logs_route_and_error_without_addresses(
    tmp_path: Path, shape: str
) -> None:
    ended = run(tmp_path, PROGRAM, LOG_FORMAT=shape)
    log = ended.stderr
    assert ended.stdout.strip() == "503", log
    assert "OperationalError" in log
    assert "newsletter_site/middleware/page_language.py:" in log
    for secret in ("a-link-in-mail", "pass-word", str(tmp_path)):
        assert secret not in log
    if shape == "lines":
        return
    *_, fault, answered = map(json.loads, log.splitlines())
    assert fault["level"] == "error"
    assert fault["event"] == "the database cannot be reached"
    assert fault["error"].startswith("OperationalError, from OperationalError")
    assert any(
        place.startswith("newsletter_site/middleware/page_language.py:")
        for place in fault["frames"]
    )
    assert (answered["route"], answered["status"]) == ("/record/<str:token>/", 503)
    assert fault["request"] == answered["request"]


UNCAUGHT = """
import threading, warnings
import newsletter_site.wsgi

class Ended:
    def __del__(self):
        raise KeyError("Ada Lovelace")

def break_off():
    raise ValueError("Ada Lovelace")

thread = threading.Thread(target=break_off)
thread.start()
thread.join()
Ended()
warnings.warn("Ada@example.org is deprecated")
raise RuntimeError("Ada Lovelace")
"""


def test_uncaught_errors_are_logged_without_their_messages(tmp_path: Path) -> None:
    ended = run(tmp_path, UNCAUGHT)
    assert ended.returncode == 1
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [line["error"] for line in lines if "error" in line] == [
        "ValueError",
        "KeyError",
        "RuntimeError",
    ]
    assert "[address] is deprecated" in lines[-2]["event"]
    assert "Ada" not in ended.stderr


def test_in_development_uncaught_errors_are_printed_by_python(tmp_path: Path) -> None:
    ended = run(tmp_path, UNCAUGHT, DEBUG="on", SITE_URL="http://127.0.0.1:8000")
    assert "RuntimeError: Ada Lovelace" in ended.stderr
