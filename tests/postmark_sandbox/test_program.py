"""The sandbox as a program of its own: started, stopped, told what to do by options."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

import pytest

from postmark_sandbox.command_line import read_fault
from postmark_sandbox.faults import BadFault
from tests.postmark_sandbox.caller import Caller, a_message

ROOT = Path(__file__).parents[2]


@contextmanager
def running(*options: str) -> Iterator[tuple[subprocess.Popen[str], Caller]]:
    """The program with these options on a free port, and a caller of it."""
    with subprocess.Popen(
        [sys.executable, "-m", "postmark_sandbox", "--port", "0", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("Postmark sandbox and its inbox: http://127.0.0.1:")
            yield process, Caller(line.split()[-1])
        finally:
            process.kill()


def failing(*options: str) -> tuple[int, str]:
    """Exit code and standard error of a start that cannot succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "postmark_sandbox", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT)},
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_exit_0_and_nothing_on_standard_error(number: int) -> None:
    with running() as (process, caller):
        assert caller.send(a_message())[0]["ErrorCode"] == 0
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_as_a_management_command_it_says_and_ends_the_same(number: int) -> None:
    with subprocess.Popen(
        [sys.executable, "manage.py", "sandbox", "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            caller = Caller(process.stdout.readline().split()[-1])
            assert caller.send(a_message())[0]["ErrorCode"] == 0
            process.send_signal(number)
            _, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")


def test_a_signal_in_the_first_instant_ends_it_too() -> None:
    with running() as (process, _):
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


def test_a_signal_ends_it_although_a_call_is_stalled() -> None:
    with running("--fault", "accept_then_stall:seconds=3600") as (process, caller):
        body = json.dumps([a_message()]).encode()
        port = int(caller.host.split(":")[1])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(
                b"POST /email/batch HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n"
                b"X-Postmark-Server-Token: t\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            assert caller.get("/__sandbox__/wait", accepted=1, timeout=20).status == 200
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


def test_a_port_in_use_is_told_in_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, errors = failing("--port", str(port))
    assert code == 1
    assert errors == (
        f"Port {port} is in use. Stop what listens there, or choose another port with --port.\n"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--fault", "fire"], "There is no fault 'fire'."),
        (["--fault", "slow:seconds"], "--fault has 'seconds'; expected NAME=VALUE."),
        (["--stream", "letters"], "--stream is 'letters'; expected ID=TYPE"),
        (["--stream", "letters=Big"], "--stream is 'letters=Big'; expected ID=TYPE"),
        (["--webhook-url", "nowhere"], "The webhook URL must look like"),
        (["--port", "99999"], "99999"),
        (["--desk-url", "javascript:alert(1)"], "The address of the desk is 'javascript:alert(1)'"),
    ],
)
def test_a_wrong_option_is_told_in_one_sentence(options: list[str], sentence: str) -> None:
    code, errors = failing("--port", "0", *options)
    assert code == 1
    assert sentence in errors
    assert "Traceback" not in errors
    assert errors.count("\n") == 1


def test_every_page_leads_back_to_the_desk_that_is_named_and_to_none_otherwise() -> None:
    desk = "http://127.0.0.1:8000/admin/newsletters/issues/?a=1&b=2"
    link = f'<a href="{escape(desk)}">Back to the desk</a>'
    with running("--desk-url", desk) as (_, caller):
        for page in ("/", "/suppressions", "/faults", "/calls"):
            assert link in caller.call("GET", page).text
    with running() as (_, caller):
        assert "Back to the desk" not in caller.call("GET", "/").text


def test_options_set_faults_tokens_senders_and_streams() -> None:
    with running(
        "--fault",
        "accept_then_close",
        "--probability",
        "0.05",
        "--seed",
        "1789",
        "--token",
        "a token",
        "--verified",
        "example.org",
        "--stream",
        "letters=Broadcasts",
        "--unsubscribe-handling",
        "Postmark",
        "--latency-ms",
        "1",
    ) as (_, caller):
        fault = caller.get("/__sandbox__/faults").json["faults"][0]
        assert (fault["kind"], fault["probability"], fault["seed"], fault["calls"]) == (
            "accept_then_close",
            0.05,
            1789,
            None,
        )
        assert caller.get("/message-streams/letters").status == 200
        assert caller.call("GET", "/bounces", None, {"X-Postmark-Server-Token": "b"}).code == 10
        assert caller.post("/email", a_message(From="a@example.com")).code == 400
        handling = caller.get("/message-streams/broadcast").json
        assert handling["SubscriptionManagementConfiguration"] == {
            "UnsubscribeHandlingType": "Postmark"
        }


def test_the_program_needs_no_django() -> None:
    code = (
        "import sys, postmark_sandbox.command_line; "
        "sys.exit(any(m.partition('.')[0] == 'django' for m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=False, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0


def test_a_fault_of_the_command_line_fires_on_every_call_unless_it_says_otherwise() -> None:
    assert read_fault("refuse_429", None) == {"kind": "refuse_429", "calls": None}
    assert read_fault("slow:seconds=2,calls=3", 0.5) == {
        "kind": "slow",
        "seconds": "2",
        "calls": "3",
        "probability": 0.5,
    }
    with pytest.raises(BadFault):
        read_fault("slow:2", None)
