"""Commands in their own processes: Ctrl-C, settings, undecodable arguments."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from newsletter_site.operations.release import running_release
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


@pytest.mark.parametrize("command", ["flush", "sqlflush", "loaddata", "test", "testserver"])
def test_commands_that_do_harm_are_not_offered(tmp_path: Path, command: str) -> None:
    options = {"HOMING_DATA_DIR": str(tmp_path), "DEBUG": "on"}
    out, errors = started("manage.py", command, **options).communicate()
    assert out == ""
    assert errors.startswith(f"homing: there is no command {command}. ")
    assert len(errors.splitlines()) == 1
    listed = started("manage.py", "help", **options).communicate()[0].split()
    assert command not in listed
    assert {"accounts", "dbshell", "migrate"} <= set(listed)


@pytest.mark.parametrize("option", ["--version", "version"])
def test_version_is_that_of_homing_and_needs_no_settings(option: str) -> None:
    out, errors = started("manage.py", option, DEBUG="off").communicate()
    assert errors == ""
    lines = out.splitlines()
    assert lines[0] == f"Homing {running_release()}"
    assert re.fullmatch(r"Python \S+, Django \S+, libpq \S+", lines[1])


def test_warnings_come_at_the_start_and_not_before_each_output(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELIVERY_RATE", "a secret")
    done = typed(database_url, "audit")
    assert (done.returncode, done.stderr) == (0, "")
    for command in (["check"], ["migrate"], ["deliver", "--until-empty"]):
        warned = typed(database_url, *command)
        words = " ".join(warned.stderr.split())
        assert words.count("The variable DELIVERY_RATE is set and has no effect") == 1, command
        assert "Did you mean DELIVERY_RATE_PER_S?" in words
        assert "a secret" not in words + warned.stdout


def test_an_error_of_the_checks_still_ends_a_command(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", "elsewhere.example.org")
    done = typed(database_url, "audit")
    assert (done.returncode, done.stdout) == (1, "")
    assert "homing.E001" in done.stderr


@pytest.mark.parametrize("command", ["deliver", "token create"])
def test_usage_and_errors_name_the_entry_script(tmp_path: Path, command: str) -> None:
    options = {"HOMING_DATA_DIR": str(tmp_path), "DEBUG": "on"}
    process = started("manage.py", *command.split(), "--unknown", **options)
    _, errors = process.communicate()
    assert process.returncode == 2
    assert errors.startswith(f"usage: ./homing {command} ")
    assert f"\n./homing {command}: error: " in errors
