"""The sandbox as a program: start, stop and options."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from shutil import copytree

import pytest

from tests.postmark_sandbox.caller import Caller, a_message

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.process


@contextmanager
def running(
    *options: str, program: Sequence[str] = ("-m", "postmark_sandbox"), root: Path = ROOT
) -> Iterator[tuple[subprocess.Popen[str], Caller]]:
    """Run the program with these options on a free port; yield a caller of it."""
    with subprocess.Popen(
        [sys.executable, *program, "--port", "0", *options],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("Postmark sandbox and its inbox: http://127.0.0.1:")
            yield process, Caller(line.split()[-1])
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("program", [["-m", "postmark_sandbox"], ["manage.py", "sandbox"]])
def test_signal_ends_it_with_exit_code_0_and_no_errors(number: int, program: list[str]) -> None:
    with running(program=program) as (process, caller):
        assert caller.send(a_message())[0]["ErrorCode"] == 0
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


def test_signal_ends_it_while_a_call_is_stalled() -> None:
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


def test_options_set_faults_tokens_senders_and_streams() -> None:
    desk = "http://127.0.0.1:8000/admin/newsletters/issues/?a=1&b=2"
    with running(
        *("--fault", "accept_then_close:probability=0.05", "--seed", "1789"),
        *("--token", "a token", "--verified", "example.org", "--stream", "letters=Broadcasts"),
        *("--unsubscribe-handling", "Postmark", "--latency-ms", "1", "--desk-url", desk),
    ) as (_, caller):
        for page in ("/", "/faults", "/calls"):
            link = f'<a href="{escape(desk)}">Back to Issues</a>'
            assert link in caller.call("GET", page).text
        fault = caller.get("/__sandbox__/faults").json["faults"][0]
        found = [fault[name] for name in ("kind", "probability", "seed", "calls")]
        assert found == ["accept_then_close", 0.05, 1789, None]
        assert caller.get("/message-streams/letters").status == 200
        assert caller.call("GET", "/bounces", None, {"X-Postmark-Server-Token": "b"}).code == 10
        assert caller.post("/email", a_message(From="a@example.com")).code == 400
        handling = caller.get("/message-streams/broadcast").json
        assert "Postmark" in str(handling["SubscriptionManagementConfiguration"])


def test_the_program_runs_without_the_site(tmp_path: Path) -> None:
    copytree(ROOT / "postmark_sandbox", tmp_path / "postmark_sandbox")
    with running(root=tmp_path) as (_, caller):
        assert "The inbox is empty" in caller.call("GET", "/").text
        assert caller.call("GET", "/static/sandbox.css").status == 200
        assert caller.call("GET", "/static/homing.css").status == 404
