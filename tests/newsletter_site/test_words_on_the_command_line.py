"""What is typed as an argument and is no text gets one sentence, whichever command it is for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model

from subscribers.models import SubscriberImport

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60
NO_TEXT = b"bo\xff"


def manage(database_url: str, *arguments: str | bytes) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [
        ("token", "create", NO_TEXT, "--name", "x", "--scope", "status"),
        ("token", "list", NO_TEXT),
        ("let_in", NO_TEXT),
        ("remove_second_factor", NO_TEXT),
    ],
)
def test_what_is_no_text_gets_one_sentence(
    database_url: str, command: tuple[str | bytes, ...]
) -> None:
    get_user_model().objects.create_superuser("root")
    done = manage(database_url, *command)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "homing: “bo\\xff” on the command line is no UTF-8 text; give it as UTF-8.\n"
    )


def test_a_file_whose_name_is_no_text_is_read_all_the_same(
    database_url: str, tmp_path: Path
) -> None:
    name = os.fsencode(tmp_path) + b"/bo\xff.csv"
    Path(os.fsdecode(name)).write_bytes(b"email\nada@posthouse.example.org\n")
    first, again = (
        manage(database_url, "import_subscribers", name, "--confirmed") for _ in range(2)
    )
    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert SubscriberImport.objects.get().filename == "bo\ufffd.csv"
    assert "The content of bo\ufffd.csv was imported before" in again.stdout
