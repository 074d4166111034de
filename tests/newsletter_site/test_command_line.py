"""Commands in their own processes: Ctrl-C, settings, undecodable arguments."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from subscribers.models import SubscriberImport
from tests.newsletter_site.read_settings import ROOT
from tests.run_manage_command import typed

pytestmark = pytest.mark.process


def started(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_at_the_start_prints_one_line(tmp_path: Path) -> None:
    command = ["manage.py", "shell", "-v", "0", "-c", "raise KeyboardInterrupt"]
    process = started(*command, HOMING_DATA_DIR=str(tmp_path))
    _, errors = process.communicate()
    assert (process.returncode, errors) == (130, "Interrupted.\n")


def test_a_program_ends_with_the_sentence_and_without_a_traceback(tmp_path: Path) -> None:
    wrong = {"HOMING_DATA_DIR": str(tmp_path), "DELIVERY_BATCH_SIZE": "many"}
    process = started("manage.py", "deliver", **wrong)
    sentence = "DELIVERY_BATCH_SIZE is 'many'; expected a whole number from 1 to 500."
    assert process.communicate() == ("", f"homing: {sentence}\n")
    assert process.returncode == 1


def test_processes_that_start_together_agree_on_one_secret_key(tmp_path: Path) -> None:
    program = "from newsletter_site.settings import SECRET_KEY; print(SECRET_KEY)"
    together = [started("-c", program, HOMING_DATA_DIR=str(tmp_path / "data")) for _ in range(3)]
    keys = {process.communicate()[0] for process in together}
    assert len(keys) == 1
    assert len(keys.pop()) >= 50


def test_an_undecodable_argument_gets_one_sentence(database_url: str) -> None:
    done = typed(database_url, "token", "create", b"bo\xff", "--name", "x", "--scope", "status")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "homing: “bo\\xff” on the command line is not UTF-8. Type it as UTF-8.\n"
    )


@pytest.mark.django_db(transaction=True)
def test_a_file_with_an_undecodable_name_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/bo\xff.csv")
    Path(name).write_bytes(b"email\nada@posthouse.example.org\n")
    for _ in range(2):
        call_command("import_subscribers", name, "--confirmed")
    assert SubscriberImport.objects.get().filename == "bo\ufffd.csv"
    assert "The content of bo\ufffd.csv was imported before" in capsys.readouterr().out


def test_a_refused_command_prints_one_line_after_the_programs_name(tmp_path: Path) -> None:
    process = started("manage.py", "deliver", "--concurrency", "0", HOMING_DATA_DIR=str(tmp_path))
    _, errors = process.communicate()
    assert process.returncode == 1
    assert errors == "homing: --concurrency is “0”. Give a whole number from 1 to 64.\n"


def test_commands_do_not_offer_the_version_of_django(tmp_path: Path) -> None:
    process = started("manage.py", "deliver", "--version", HOMING_DATA_DIR=str(tmp_path))
    out, errors = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert "unrecognized arguments: --version" in errors


@pytest.mark.parametrize("command", ["deliver", "token create"])
def test_usage_and_errors_name_the_entry_script(tmp_path: Path, command: str) -> None:
    options = {"HOMING_DATA_DIR": str(tmp_path), "DEBUG": "on"}
    process = started("manage.py", *command.split(), "--unknown", **options)
    _, errors = process.communicate()
    assert process.returncode == 2
    assert errors.startswith(f"usage: ./homing {command} ")
    assert f"\n./homing {command}: error: " in errors
