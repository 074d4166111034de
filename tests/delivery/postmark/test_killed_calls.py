"""If a client is killed before the last piece of a request, no request arrives."""

import os
import signal
from contextlib import closing

import pytest

from delivery.postmark.client import Postmark
from delivery.provider.deadline_clock import now_s
from delivery.rules.call_results import AllAccepted
from tests.delivery.http_responses import GOOD, answering
from tests.delivery.postmark_responses import addresses
from tests.delivery.scripted_http_server import PATIENCE_S, ScriptedServer

pytestmark = pytest.mark.process


@pytest.mark.parametrize("content", [b"[{}]", b" " * 1_000_000], ids=["small", "large"])
def test_killed_before_the_last_piece_leaves_no_request(content: bytes) -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with ScriptedServer(lambda talk: talk.read_request() and None) as server:
        child = os.fork()
        if child == 0:
            sender = Postmark(server.url, "secret-token", deadline_s=PATIENCE_S)
            deadline_at_s = now_s() + PATIENCE_S
            sender.send(content, addresses(1), deadline_at_s=deadline_at_s, about_to_complete=die)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert server.requests == []


def test_a_call_announces_its_last_piece_once() -> None:
    announced: list[str] = []
    with (
        ScriptedServer(answering(GOOD)) as server,
        closing(Postmark(server.url, "secret-token", deadline_s=PATIENCE_S)) as sender,
    ):
        answer = sender.send(
            b" " * 1_000_000,
            addresses(1),
            deadline_at_s=now_s() + PATIENCE_S,
            about_to_complete=lambda: announced.append("last piece"),
        )
    assert isinstance(answer, AllAccepted)
    assert announced == ["last piece"]
