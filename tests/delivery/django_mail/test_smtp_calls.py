"""What a call over SMTP makes certain for each of its messages."""

import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import orjson
import pytest

from delivery.django_mail.django_mail_provider import DjangoMail
from delivery.provider.deadline_clock import now_s
from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    CallResult,
    Deferred,
    NotSent,
    NotTried,
    RejectedForAll,
    Unanswered,
)
from delivery.rules.outcomes import Failed, Sent
from tests.delivery.django_mail.smtp_calls import ATTEMPT, message
from tests.delivery.django_mail.smtp_server import CUT, HANG, SmtpServer
from tests.postgres_cluster import ROOT

pytestmark = pytest.mark.process

CERTIFICATE = ROOT / "tests" / "delivery" / "loopback.pem"


def send(
    provider: DjangoMail,
    *messages: dict[str, Any],
    within_s: float = 20.0,
    about_to_complete: Callable[[], None] = lambda: None,
) -> CallResult:
    return provider.send(
        orjson.dumps(messages),
        [one["to"] for one in messages],
        deadline_at_s=now_s() + within_s,
        about_to_complete=about_to_complete,
    )


def kinds(result: CallResult) -> list[type]:
    assert isinstance(result, Answered | AllAccepted), result
    return [type(one) for one in result.messages]


@pytest.fixture
def provider(django_mail: SmtpServer) -> Iterator[DjangoMail]:
    with closing(DjangoMail()) as made:
        yield made


def test_each_reader_gets_one_message_with_all_headers(
    provider: DjangoMail, server: SmtpServer
) -> None:
    result = send(provider, message(1), message(2))

    assert isinstance(result, AllAccepted)
    assert result.message_ids == [f"issue.1.{n}@{ATTEMPT}" for n in (1, 2)]
    assert server.recipients == ["reader1@example.net", "reader2@example.net"]
    assert server.connections == 1
    first = server.accepted[0]
    for name, value in message(1)["headers"]:
        assert first.get_all(name) == [value]
    assert first["To"] == "reader1@example.net"
    assert first["Reply-To"] == "ada@example.org"
    assert (first["X-Homing-Copy"], first["X-Homing-Tag"]) == (f"issue.1.1@{ATTEMPT}", "issue-1")
    text, html = (part.get_payload(decode=True) for part in first.get_payload())  # type: ignore[union-attr]
    assert text.replace(b"\r\n", b"\n") == b"Dear reader\n.\n.. dots\n"
    assert html.strip() == b"<p>Dear reader</p>"


def test_a_refused_reader_does_not_touch_the_others(
    provider: DjangoMail, server: SmtpServer
) -> None:
    server.answers = {
        ("RCPT", "reader1@example.net"): "550 5.1.1 No such user",
        ("RCPT", "reader2@example.net"): "450 4.2.0 Greylisted, try again",
        ("DATA", "reader4@example.net"): "451 4.3.0 Try again later",
    }
    result = send(provider, *map(message, range(1, 6)))
    assert kinds(result) == [Failed, Deferred, Sent, Deferred, Sent]
    assert server.recipients == ["reader3@example.net", "reader5@example.net"]


def test_a_cut_after_the_end_leaves_one_message_unknown(
    provider: DjangoMail, server: SmtpServer
) -> None:
    server.answers = {("DATA", "reader2@example.net"): CUT}
    result = send(provider, message(1), message(2), message(3))
    assert kinds(result) == [Sent, Unanswered, NotTried]


@pytest.mark.parametrize("command", ["MAIL", "RCPT"])
def test_a_cut_before_the_content_sends_nothing(
    provider: DjangoMail, server: SmtpServer, command: str
) -> None:
    server.answers = {(command, ""): CUT}
    assert kinds(send(provider, message(1), message(2))) == [NotTried, NotTried]
    assert server.accepted == []


def test_a_cut_within_the_content_sends_nothing(settings: Any, django_mail: SmtpServer) -> None:
    def serve(listener: socket.socket) -> None:
        talk, _ = listener.accept()
        with talk, talk.makefile("rb") as lines, suppress(ConnectionError):
            talk.sendall(b"220 here\r\n")
            for line in lines:
                if line.startswith(b"DATA"):
                    talk.sendall(b"354 send it\r\n")
                    lines.readline()
                    return
                talk.sendall(b"250 OK\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings.EMAIL_PORT = listener.getsockname()[1]
        threading.Thread(target=serve, args=[listener], daemon=True).start()
        with closing(DjangoMail()) as provider:
            result = send(provider, message(1, text="x\n" * 10_000_000), message(2))
    assert kinds(result) == [NotTried, NotTried]


def test_a_closing_server_ends_the_call(provider: DjangoMail, server: SmtpServer) -> None:
    server.answers = {("RCPT", "reader2@example.net"): "421 4.7.0 Too many messages, closing"}
    result = send(provider, message(1), message(2), message(3))
    assert kinds(result) == [Sent, NotTried, NotTried]
    server.answers = {}
    assert kinds(send(provider, message(2), message(3))) == [Sent, Sent]


def test_nothing_is_written_after_the_deadline(provider: DjangoMail, server: SmtpServer) -> None:
    server.answers = {("DATA", "reader1@example.net"): HANG}
    assert kinds(send(provider, message(1), message(2), within_s=0.5)) == [Unanswered, NotTried]
    server.answers = {("RCPT", ""): HANG}
    assert kinds(send(provider, message(3), within_s=0.5)) == [NotTried]
    assert isinstance(send(provider, message(3), within_s=-1), NotSent)
    assert server.recipients == []


def test_a_reply_that_is_no_reply_leaves_the_message_unknown(
    provider: DjangoMail, server: SmtpServer
) -> None:
    server.answers = {("DATA", ""): "200 What is this"}
    assert kinds(send(provider, message(1))) == [Unanswered]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [("530 5.7.0 Log in first", RejectedForAll), ("451 4.3.0 Not now", NotTried)],
)
def test_the_sender_may_be_refused(
    provider: DjangoMail, server: SmtpServer, reply: str, kind: type
) -> None:
    server.answers = {("MAIL", ""): reply}
    assert kinds(send(provider, message(1))) == [kind]


def test_a_server_that_is_away_was_sent_nothing(settings: Any, provider: DjangoMail) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    settings.EMAIL_PORT = port
    with closing(DjangoMail()) as other:
        assert isinstance(send(other, message(1)), NotSent)


def test_a_wrong_password_stops_the_edition(settings: Any, django_mail: SmtpServer) -> None:
    with SmtpServer(login="right") as server:
        settings.EMAIL_PORT = server.port
        settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "ada", "wrong"
        with closing(DjangoMail()) as provider:
            result = send(provider, message(1))
        assert isinstance(result, RejectedForAll)
        assert result.reason.params["remedy"] == "mail_login"
        settings.EMAIL_HOST_PASSWORD = "right"
        with closing(DjangoMail()) as provider:
            assert kinds(send(provider, message(1))) == [Sent]


def test_the_certificate_of_the_server_is_checked(
    settings: Any, django_mail: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    settings.EMAIL_USE_TLS = True
    with SmtpServer(tls=context) as server:
        settings.EMAIL_PORT = server.port
        with closing(DjangoMail()) as provider:
            assert isinstance(send(provider, message(1)), NotSent)
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        with closing(DjangoMail()) as provider:
            assert kinds(send(provider, message(1))) == [Sent]


def test_a_connection_that_the_server_closed_is_opened_again(
    provider: DjangoMail, server: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kinds(send(provider, message(1))) == [Sent]
    monkeypatch.setattr("delivery.django_mail.watched_smtp.IDLE_S", 0.0)
    provider._backend.connection.sock.shutdown(socket.SHUT_RDWR)
    assert kinds(send(provider, message(2))) == [Sent]
    assert server.connections == 2


def test_a_worker_killed_before_the_end_sent_nothing(
    provider: DjangoMail, server: SmtpServer
) -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        send(DjangoMail(), message(1), about_to_complete=die)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert kinds(send(provider, message(2))) == [Sent]
    assert server.recipients == ["reader2@example.net"]


def test_a_failed_announcement_ends_the_call(provider: DjangoMail, server: SmtpServer) -> None:
    def fail() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        send(provider, message(1), message(2), about_to_complete=fail)
    announced: list[int] = []
    send(provider, message(1), message(2), about_to_complete=lambda: announced.append(1))
    assert (server.recipients, announced) == (["reader1@example.net", "reader2@example.net"], [1])


def test_a_message_after_an_accepted_one_may_be_sent_later(
    provider: DjangoMail, server: SmtpServer
) -> None:
    server.answers = {("RCPT", "reader2@example.net"): CUT}
    assert kinds(send(provider, message(1), message(2))) == [Sent, NotTried]


def test_the_last_byte_is_not_written_after_the_deadline(
    provider: DjangoMail, server: SmtpServer
) -> None:
    def wait_for_the_deadline() -> None:
        until_s = now_s() + 0.5
        while now_s() < until_s:
            pass

    result = send(provider, message(1), within_s=0.4, about_to_complete=wait_for_the_deadline)
    assert kinds(result) == [NotTried]
    assert kinds(send(provider, message(2))) == [Sent]
    assert server.recipients == ["reader2@example.net"]


def test_a_reply_that_drips_ends_at_the_deadline(settings: Any, django_mail: SmtpServer) -> None:
    ends: list[str] = []

    def drip(listener: socket.socket) -> None:
        talk, _ = listener.accept()
        with talk:
            try:
                talk.sendall(b"220 here\r\n")
                talk.recv(1000)
                # One byte after another, until the client closes: no wait for a byte is long.
                talk.settimeout(0.05)
                for _ in range(200):
                    with suppress(TimeoutError):
                        assert talk.recv(1)
                    talk.sendall(b"2")
                ends.append("the server gave up")
            except (OSError, AssertionError):
                ends.append("the client closed the connection")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings.EMAIL_PORT = listener.getsockname()[1]
        dripping = threading.Thread(target=drip, args=[listener])
        dripping.start()
        with closing(DjangoMail()) as provider:
            result = send(provider, message(1), within_s=1.0)
        dripping.join()
    assert kinds(result) == [NotTried]
    assert ends == ["the client closed the connection"]


def test_a_connection_that_ends_behind_a_refusal_is_not_used(
    provider: DjangoMail, server: SmtpServer
) -> None:
    ending = "550 5.1.1 Gone\r\n421 4.7.0 Too many errors"
    server.answers = {("RCPT", "reader0@example.net"): ending}
    assert kinds(send(provider, message(0))) == [Failed]
    assert kinds(send(provider, message(1))) == [Sent]
    assert server.connections == 2
