"""The client's result for every network error: sent, not sent, or unanswered.

Every kind of error is tested with a real server on the loopback interface.
"""

import gzip
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from delivery.postmark.client import Postmark
from delivery.provider import http_connection as connection
from delivery.provider.deadline_clock import now_s
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.call_results import (
    AllAccepted,
    CallResult,
    Deferred,
    NotSent,
    RejectedForAll,
    SearchFailed,
    TooLarge,
    Unanswered,
)
from delivery.rules.reason import Reason, ReasonCode
from tests.delivery.http_responses import GOOD, answering, http
from tests.delivery.postmark_responses import accepted, addresses, body, error
from tests.delivery.scripted_http_server import (
    CERTIFICATE,
    PATIENCE_S,
    Conversation,
    Script,
    ScriptedServer,
)

# A time limit in seconds: long enough for calls that should succeed, and short enough to wait for.
LONG_S = PATIENCE_S
SHORT_S = 1.0

Client = Callable[[str], Postmark]


@pytest.fixture
def client() -> Iterator[Client]:
    """Return a function that makes a client for a URL; close all clients afterwards."""
    made: list[Postmark] = []

    def make(url: str) -> Postmark:
        made.append(Postmark(url, "secret-token", deadline_s=LONG_S))
        return made[-1]

    yield make
    for each in made:
        each.close()


def send(sender: Postmark, *, within_s: float = LONG_S, content: bytes = b"[{}]") -> CallResult:
    return sender.send(content, addresses(1), deadline_at_s=now_s() + within_s)


def unanswered_because(answer: CallResult) -> str:
    assert isinstance(answer, Unanswered)
    return reason_sentence(answer.reason)


def test_a_refused_connection_is_not_sent(client: Client) -> None:
    with socket.socket() as bound_but_deaf:
        bound_but_deaf.bind(("127.0.0.1", 0))
        answer = send(client(f"http://127.0.0.1:{bound_but_deaf.getsockname()[1]}"))
    assert isinstance(answer, NotSent)
    assert reason_sentence(answer.reason).endswith("(NewConnectionError).")


def test_failed_connection_is_not_sent(client: Client) -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        answer = send(client(f"http://127.0.0.1:{full.getsockname()[1]}"), within_s=SHORT_S)
    assert isinstance(answer, NotSent)
    assert reason_sentence(answer.reason).endswith("(ConnectTimeoutError).")


def test_a_certificate_that_is_not_trusted_is_not_sent(client: Client) -> None:
    with ScriptedServer(answering(GOOD), secure=True) as server:
        answer = send(client(server.url))
    assert isinstance(answer, NotSent)
    assert reason_sentence(answer.reason).endswith("(SSLCertVerificationError).")
    assert server.received == b""


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 200 OK\r\n\r\n", b"\x16\x03\x03"])
def test_a_call_without_a_finished_handshake_is_not_sent(client: Client, greeting: bytes) -> None:
    with ScriptedServer(lambda talk: talk.write(greeting)) as server:
        answer = send(client(server.url.replace("http:", "https:")))
    assert isinstance(answer, NotSent)


def test_expired_call_does_not_connect(client: Client) -> None:
    with ScriptedServer() as server:
        answer = send(client(server.url), within_s=-0.001)
    assert answer == NotSent(Reason.of(ReasonCode.NO_TIME_LEFT))
    assert server.connections == 0


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_no_byte_is_written_if_connecting_took_too_long(
    client: Client, monkeypatch: pytest.MonkeyPatch, secure: bool
) -> None:
    deadline_at_s = now_s() + SHORT_S
    resolve = socket.getaddrinfo

    def resolve_late(*query: object) -> object:
        while now_s() < deadline_at_s:
            threading.Event().wait(deadline_at_s - now_s())
        return resolve(*query)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", resolve_late)
    # A TLS handshake may take as long as connecting. The client trusts this server's certificate.
    with ScriptedServer(lambda talk: talk.read_request() and None, secure=secure) as server:
        sender = trusting(client(server.url))
        answer = sender.send(b"[{}]", addresses(1), deadline_at_s=deadline_at_s)
    assert answer == NotSent(Reason.of(ReasonCode.NO_TIME_LEFT))
    assert server.connections == 1
    assert server.received == b""


def test_last_piece_is_not_written_after_the_deadline(client: Client) -> None:
    deadline_at_s = now_s() + SHORT_S

    def freeze() -> None:
        while now_s() < deadline_at_s:
            threading.Event().wait(deadline_at_s - now_s())

    with ScriptedServer(lambda talk: talk.read_request() and None) as server:
        answer = client(server.url).send(
            b" " * 100_000, addresses(1), deadline_at_s=deadline_at_s, about_to_complete=freeze
        )
    assert isinstance(answer, Unanswered)
    assert server.received.startswith(b"POST")
    assert server.requests == []


def trusting(sender: Postmark) -> Postmark:
    if hasattr(sender._connection, "tls"):
        sender._connection.tls.load_verify_locations(CERTIFICATE)
    return sender


def close_unread(talk: Conversation) -> None:
    talk.close()


def close_after_reading(talk: Conversation) -> None:
    talk.read_request()


def reset_after_reading(talk: Conversation) -> None:
    talk.read_request()
    talk.reset()


RESULT = body([accepted()])
# A result that is longer than one read of the socket.
LONG_RESULT = RESULT + b" " * 500_000
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "script",
    [
        close_unread,
        close_after_reading,
        reset_after_reading,
        answering(b"SMTP 220 hello\r\n\r\n"),
        answering(b"\x00" * 70_000),
        answering(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 500),
        answering(b"HTTP/1.1 200 OK\r\nConten"),
        answering(http("422 No", body(error(406)))[:-1]),
        answering(CHUNKED + b"%x\r\n%s\r\n" % (len(RESULT), RESULT)),
        answering(CHUNKED + b"zz\r\n[]\r\n0\r\n\r\n"),
        answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5, 9\r\n\r\n[1,2]"),
        answering(http("200 OK", RESULT, "Content-Encoding: gzip")),
        answering(http("200 OK", LONG_RESULT)[:-1]),
    ],
)
def test_connection_lost_after_the_first_byte_leaves_the_call_unanswered(
    client: Client, script: Script
) -> None:
    with ScriptedServer(script) as server:
        answer = send(client(server.url))
    assert isinstance(answer, Unanswered)
    assert server.connections == 1


def test_a_client_works_again_after_a_broken_connection(client: Client) -> None:
    with ScriptedServer(close_after_reading, answering(GOOD)) as server:
        sender = client(server.url)
        assert unanswered_because(send(sender)) == (
            "The connection broke before Postmark answered (RemoteDisconnected)."
        )
        assert isinstance(send(sender), AllAccepted)


LENGTH_OF_100_KB = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"


def slowly(begin: bytes, drops: bytes = b"") -> Script:
    """Send `begin`, then `drops` byte by byte. If `drops` is empty, send nothing more."""

    def script(talk: Conversation) -> None:
        talk.read_request()
        talk.write(begin)
        if drops:
            talk.drip(drops)
        else:
            talk.stall()

    return script


STALLED, STALLED_IN_THE_BODY = slowly(b""), slowly(GOOD[:-1])
DRIPPING = slowly(LENGTH_OF_100_KB, b" " * 1_000)
DRIPPING_IN_CHUNKS = slowly(CHUNKED, b"1\r\n \r\n" * 200)


@pytest.mark.parametrize(
    ("script", "secure"),
    [
        (STALLED, False),
        (STALLED, True),
        (STALLED_IN_THE_BODY, False),
        (slowly(b"", b"H" * 1_000), False),
        (DRIPPING, False),
        (DRIPPING, True),
        (DRIPPING_IN_CHUNKS, False),
    ],
)
def test_the_deadline_ends_an_endless_answer(client: Client, script: Script, secure: bool) -> None:
    with ScriptedServer(script, secure=secure) as server:
        answer = send(trusting(client(server.url)), within_s=SHORT_S)
        # The server must also see a closed connection.
        assert server.was_cut_off.wait(PATIENCE_S)
    assert unanswered_because(answer) == "Postmark's answer was not complete before the deadline."
    assert len(server.requests) == 1


MORE_THAN_THE_BUFFERS_HOLD = b" " * (32 * 1024 * 1024)


def test_the_deadline_discards_a_request_that_nobody_reads(client: Client) -> None:
    is_over = threading.Event()
    resets: list[bool] = []

    def read_after_the_deadline(talk: Conversation) -> None:
        is_over.wait(PATIENCE_S)
        resets.append(talk.ends_with_reset())

    with ScriptedServer(read_after_the_deadline) as server:
        answer = send(client(server.url), within_s=SHORT_S, content=MORE_THAN_THE_BUFFERS_HOLD)
        is_over.set()
    assert isinstance(answer, Unanswered)
    assert resets == [True]


def test_sending_may_outlast_connecting(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_TIMEOUT_S", 0.1)

    def read_late(talk: Conversation) -> None:
        threading.Event().wait(0.5)
        answering(GOOD)(talk)

    with ScriptedServer(read_late) as server:
        answer = send(client(server.url), content=MORE_THAN_THE_BUFFERS_HOLD)
    assert isinstance(answer, AllAccepted)


def test_unacknowledged_bytes_do_not_outlive_the_deadline(client: Client) -> None:
    found: list[int] = []

    def look_at_the_client(talk: Conversation) -> None:
        talk.read_request()
        found.extend(options_of_sockets_connected_to(server.url))
        talk.write(GOOD)

    with ScriptedServer(look_at_the_client) as server:
        send(client(server.url))
    # Some systems do not have the option TCP_USER_TIMEOUT.
    timeout_ms = int(LONG_S * 1000) if hasattr(socket, "TCP_USER_TIMEOUT") else 0
    assert found == [timeout_ms]


def options_of_sockets_connected_to(url: str) -> list[int]:
    there = ("127.0.0.1", int(url.rpartition(":")[2]))
    found = []
    for entry in Path("/dev/fd").iterdir():
        # Check only sockets, because other descriptors, such as a browser's pipes, do not belong to
        # the client. The peer name of another kind of socket, such as the database's, has another
        # form.
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(entry.name)).st_mode):
                with socket.fromfd(int(entry.name), socket.AF_INET, socket.SOCK_STREAM) as sock:
                    if sock.getpeername() == there:
                        option = getattr(socket, "TCP_USER_TIMEOUT", None)
                        found.append(sock.getsockopt(socket.IPPROTO_TCP, option) if option else 0)
    return found


def test_answer_is_read_with_any_framing(client: Client) -> None:
    chunked = CHUNKED + b"1\r\n[\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(RESULT) - 1, RESULT[1:])
    until_closed = b"HTTP/1.1 200 OK\r\n\r\n" + RESULT
    packed = http("200 OK", gzip.compress(RESULT), "Content-Encoding: gzip")
    long = http("200 OK", LONG_RESULT, "Connection: keep-alive")
    for framed in (GOOD, chunked, until_closed, packed, long):
        with ScriptedServer(answering(framed)) as server:
            assert isinstance(send(client(server.url)), AllAccepted)


def test_an_answer_may_come_before_the_request_was_read(client: Client) -> None:
    def refuse_early(talk: Conversation) -> None:
        talk.write(http("413 Too Large", b"", "Connection: close"))
        talk.stall()

    with ScriptedServer(refuse_early) as server:
        answer = send(client(server.url), content=b" " * 1_000)
    assert isinstance(answer, TooLarge)


@pytest.mark.parametrize(
    "head", [b"200 OK", b"200 OK\r\nContent-Length: 67108865", b"302 Found\r\nLocation: /x"]
)
def test_overlong_answer_is_not_read_fully(client: Client, head: bytes) -> None:
    def endless(talk: Conversation) -> None:
        talk.read_request()
        talk.write(b"HTTP/1.1 " + head + b"\r\n\r\n[")
        for _ in range(64):
            talk.write(b" " * 1024 * 1024)

    with ScriptedServer(endless) as server:
        answer = send(client(server.url))
        assert server.was_cut_off.wait(PATIENCE_S)
    assert unanswered_because(answer) == "Postmark's answer was too long."


def test_overlong_list_is_not_read_fully(client: Client) -> None:
    def endless(talk: Conversation) -> None:
        talk.read_request()
        talk.write(b"HTTP/1.1 200 OK\r\n\r\n[")
        for _ in range(connection.MAX_DUMP_BYTES // (1024 * 1024) + 64):
            talk.write(b" " * 1024 * 1024)

    written = 0

    def write(piece: bytes) -> None:
        nonlocal written
        written += len(piece)

    with ScriptedServer(endless) as server:
        answer = client(server.url).list_suppressions(
            "broadcast", filters={}, write=write, deadline_at_s=now_s() + LONG_S
        )
        assert server.was_cut_off.wait(PATIENCE_S)
    assert answer == SearchFailed(Reason.of(ReasonCode.RESPONSE_TOO_LONG))
    assert written <= connection.MAX_DUMP_BYTES


def test_list_that_is_read_in_part_is_closed(client: Client) -> None:
    def write(piece: bytes) -> None:
        raise EOFError

    answer = answering(http("200 OK", b"[" * 200_000))
    with ScriptedServer(answer) as server, pytest.raises(EOFError) as failed:
        client(server.url).list_suppressions(
            "broadcast", filters={}, write=write, deadline_at_s=now_s() + LONG_S
        )
    [reading] = [one for one in failed.traceback if one.name == "_read_unusual_answer"]
    assert reading.frame.f_locals["response"].isclosed()


def test_compression_bomb_is_not_unpacked(client: Client) -> None:
    bomb = http("200 OK", gzip.compress(b" " * (64 * 1024 * 1024)), "Content-Encoding: gzip")
    with ScriptedServer(answering(bomb)) as server:
        answer = send(client(server.url))
    assert unanswered_because(answer) == "Postmark's answer was too long."


@pytest.mark.parametrize(
    ("status", "location"),
    [
        ("302 Found", ""),
        ("308 For good", ""),
        *(("302 Found", to) for to in ("http://[bad", "//")),
    ],
)
def test_a_redirect_is_not_followed(client: Client, status: str, location: str) -> None:
    with ScriptedServer() as elsewhere:
        moved = http(status, b"<html>", f"Location: {location or f'{elsewhere.url}/email/batch'}")
        with ScriptedServer(answering(moved)) as server:
            answer = send(client(server.url))
        assert elsewhere.connections == 0
    assert isinstance(answer, RejectedForAll)
    assert "POSTMARK_BASE_URL" in reason_sentence(answer.reason)


@pytest.mark.parametrize("refusal", ["429 Slow", "500 Oops", "503 Down", "408 Late"])
def test_the_client_never_repeats_a_call(client: Client, refusal: str) -> None:
    with ScriptedServer(answering(http(refusal, b"", "Retry-After: 0"), GOOD)) as server:
        sender = client(server.url)
        send(sender)
        sender.close()
    assert len(server.requests) == 1
    assert server.connections == 1


def test_non_200_answer_closes_the_connection(client: Client) -> None:
    # The real answer follows the interim one. If the connection stayed open, the real answer would
    # be read as the answer to the next call.
    with ScriptedServer(answering(http("103 Early"), GOOD), answering(http("429 Slow"))) as server:
        sender = client(server.url)
        assert isinstance(send(sender), Unanswered | RejectedForAll)
        assert isinstance(send(sender), Deferred)
    assert server.connections == 2


@pytest.mark.parametrize(
    "ending", [GOOD + GOOD, http("200 OK", RESULT, "Connection: close")], ids=["more", "close"]
)
def test_connection_is_replaced_after_an_answer_that_ends_it(client: Client, ending: bytes) -> None:
    def stay(talk: Conversation) -> None:
        answering(ending)(talk)
        talk.stall()

    with ScriptedServer(stay, answering(GOOD)) as server:
        sender = client(server.url)
        assert isinstance(send(sender), AllAccepted)
        assert isinstance(send(sender), AllAccepted)
    assert server.connections == 2


def test_a_connection_that_was_closed_while_idle_is_replaced(client: Client) -> None:
    is_closed = threading.Event()

    def close_when_idle(talk: Conversation) -> None:
        answering(GOOD)(talk)
        talk.close()
        is_closed.set()

    with ScriptedServer(close_when_idle, answering(GOOD)) as server:
        sender = client(server.url)
        assert isinstance(send(sender), AllAccepted)
        assert is_closed.wait(PATIENCE_S)
        assert isinstance(send(sender), AllAccepted)
    assert server.connections == 2


def test_broken_kept_connection_leaves_the_call_unanswered(client: Client) -> None:
    def break_on_the_second(talk: Conversation) -> None:
        answering(GOOD)(talk)
        talk.read_request()

    with ScriptedServer(break_on_the_second) as server:
        sender = client(server.url)
        assert isinstance(send(sender), AllAccepted)
        assert isinstance(send(sender), Unanswered)
    assert len(server.requests) == 2
    assert server.connections == 1


def test_proxies_and_passwords_of_the_environment_are_ignored(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password something\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "nothing.pem"))
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    with ScriptedServer() as proxy, ScriptedServer(answering(GOOD)) as server:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(variable, proxy.url)
        assert isinstance(send(client(server.url)), AllAccepted)
        assert proxy.connections == 0
    assert b"authorization" not in server.requests[0].lower()


def test_batch_is_posted_unchanged_with_the_token(client: Client) -> None:
    content = '[{"Subject": "Ebbe och flöde"}]'.encode()
    with ScriptedServer(answering(GOOD)) as server:
        send(client(server.url), content=content)
    head, _, sent = server.requests[0].partition(b"\r\n\r\n")
    line, *headers = head.decode().split("\r\n")
    assert line == "POST /email/batch HTTP/1.1"
    assert "X-Postmark-Server-Token: secret-token" in headers
    assert "Content-Type: application/json" in headers
    assert "Accept: application/json" in headers
    assert sent == content


def test_token_never_appears_in_results(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    outcomes = []
    scripts = [close_after_reading, answering(http("401 No", body(error(10)))), STALLED]
    with ScriptedServer(*scripts) as server:
        sender = client(server.url)
        outcomes += [send(sender), send(sender), send(sender, within_s=SHORT_S)]
    outcomes += [send(sender), sender]
    assert "secret-token" not in repr(outcomes) + repr(vars(sender).keys()) + caplog.text
