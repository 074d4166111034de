"""What is typed as an argument and is no text gets one sentence, whichever command it is for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model

from subscribers.models import SubscriberImport
from tests.typed_commands import typed

pytestmark = pytest.mark.django_db(transaction=True)

NO_TEXT = b"bo\xff"


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
    done = typed(database_url, *command)
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
        typed(database_url, "import_subscribers", name, "--confirmed") for _ in range(2)
    )
    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert SubscriberImport.objects.get().filename == "bo\ufffd.csv"
    assert "The content of bo\ufffd.csv was imported before" in again.stdout
