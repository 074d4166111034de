"""The provider of the crash points, in a separate process behind a proxy.

It is Postmark's sandbox, an SMTP server, or moto's server of Amazon SES. The proxy forwards every
byte. On request the proxy kills the process that made a call: after the server's answer has
arrived, and before any byte of it is forwarded.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import orjson

from postmark_sandbox.server import SandboxServer
from postmark_sandbox.state.accepted_messages import Message
from postmark_sandbox.times import utc_text
from tests.delivery.django_mail.amazon_server import AmazonServer
from tests.delivery.django_mail.smtp_server import CUT, SmtpServer

PIECE = 65536


class Proxy:
    """A proxy in front of the server, at a separate address."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._victim: int | None = None
        self._lock = threading.Lock()
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def kill_when_answered(self, pid: int) -> None:
        with self._lock:
            self._victim = pid

    def _accept(self) -> None:
        while True:
            caller, _ = self._listener.accept()
            caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self._server_port))
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The process that made the call of this connection, if it has to be killed.
        victims: list[int] = []
        back = threading.Thread(target=self._back, args=(server, caller, victims), daemon=True)
        back.start()
        with contextlib.suppress(OSError):
            while piece := caller.recv(PIECE):
                with self._lock:
                    if self._victim is not None:
                        victims.append(self._victim)
                        self._victim = None
                server.sendall(piece)
        _shut(server)
        back.join()
        caller.close()
        server.close()

    @staticmethod
    def _back(server: socket.socket, caller: socket.socket, victims: list[int]) -> None:
        with contextlib.suppress(OSError):
            while True:
                piece = server.recv(PIECE)
                if victims:
                    os.kill(victims.pop(), signal.SIGKILL)
                    break
                if not piece:
                    break
                caller.sendall(piece)
        _shut(caller)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class Desk:
    """The questions that other processes ask any provider, with a method for each.

    The desk also keeps the operator's decisions about unconfirmed copies, because it outlives the
    processes that make them.
    """

    scheme: str
    environment: dict[str, str]

    def __init__(self, port: int) -> None:
        self._proxy = Proxy(port)
        self.url = f"{self.scheme}://{self._proxy.address}"
        self._decided: dict[str, list[str]] = {}

    def begin(self, faults: list[tuple[str, dict[str, Any]]]) -> None:
        """Reset everything; start with these faults."""
        self._decided = {"resent": [], "counted": []}

    def decide(self, what: str, keys: list[str]) -> None:
        self._decided[what] += keys

    def decided(self) -> dict[str, list[str]]:
        return self._decided

    def kill_when_answered(self, pid: int) -> None:
        self._proxy.kill_when_answered(pid)

    def serve(self, caller: Connection) -> None:
        """Answer one process until it ends."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                question, arguments = caller.recv()
                caller.send(getattr(self, question)(*arguments))


class PostmarkDesk(Desk):
    """The desk of Postmark's sandbox."""

    scheme = "http"

    def __init__(self, server: SandboxServer) -> None:
        super().__init__(server.port)
        self._sandbox = server.sandbox
        self.environment = {"MAIL_PROVIDER": "postmark", "POSTMARK_BASE_URL": self.url}

    def begin(self, faults: list[tuple[str, dict[str, Any]]]) -> None:
        """Reset everything; start with these faults."""
        super().begin(faults)
        self._sandbox.reset()
        for kind, settings in faults:
            self._sandbox.set_fault(kind, **settings)

    def fix_faults(self) -> None:
        self._sandbox.faults.clear()
        self._sandbox.set_account("active")

    def search_catches_up(self) -> None:
        for rule in self._sandbox.faults.all():
            if rule.kind == "search_delay":
                self._sandbox.faults.clear(rule.id)

    def webhooks(self) -> list[bytes]:
        """Return the body of a Delivery webhook for every accepted copy."""
        return [
            orjson.dumps(
                {
                    "RecordType": "Delivery",
                    "MessageID": message.id,
                    "DeliveredAt": utc_text(message.at_ns),
                    "Metadata": message.metadata,
                }
            )
            for message in self._messages()
        ]

    def accepted(self) -> list[tuple[str, str]]:
        """Return delivery key and id of every accepted copy."""
        return [(message.metadata["delivery"], message.id) for message in self._messages()]

    def _messages(self) -> list[Message]:
        outbox = self._sandbox.outbox
        messages = [outbox.message(number) for number in range(outbox.count)]
        return [message for message in messages if "delivery" in message.metadata]


class SmtpDesk(Desk):
    """The desk of an SMTP server. Each of the sandbox's faults has a similar one here."""

    scheme = "smtp"
    FAULTS = {
        "accept_then_close": ("DATA", CUT),
        "accept_first_k_then_close": ("DATA", "", CUT),
        "bad_gateway_502_html": ("DATA", CUT),
        "refuse_429": ("RCPT", "", "450 4.2.0 Try again later"),
    }
    NO_CREDITS = "530 5.7.0 Authentication required"

    def __init__(self, server: SmtpServer) -> None:
        super().__init__(server.port)
        self._server = server
        self.environment = {"MAIL_PROVIDER": "django", "EMAIL_URL": self.url}

    def begin(self, faults: list[tuple[str, dict[str, Any]]]) -> None:
        """Reset everything; start with these faults."""
        super().begin(faults)
        server = self._server
        server.accepted.clear()
        server.once, server.answers = {}, {}
        for kind, _ in faults:
            if kind == "whole_422":
                server.answers[("MAIL", "")] = self.NO_CREDITS
            else:
                command, *answers = self.FAULTS[kind]
                server.once[command] = answers

    def fix_faults(self) -> None:
        self._server.answers.clear()

    def search_catches_up(self) -> None:
        """Do nothing, because SMTP has no search."""

    def accepted(self) -> list[tuple[str, str]]:
        """Return delivery key and proof of every accepted copy."""
        proofs = [message["X-Homing-Copy"] for message in self._server.accepted]
        return [(proof.rpartition("@")[0], proof) for proof in proofs]


class AmazonDesk(Desk):
    """The desk of moto's server of Amazon SES."""

    scheme = "http"
    FAULTS = {"accept_then_close": [True], "accept_first_k_then_close": [False, True]}

    def __init__(self, server: AmazonServer) -> None:
        super().__init__(server.port)
        self._server = server
        self.environment = server.variables(self.url)

    def begin(self, faults: list[tuple[str, dict[str, Any]]]) -> None:
        """Reset everything; start with these faults."""
        super().begin(faults)
        server = self._server
        server.accepted.clear()
        server.ids.clear()
        server.cut_next = [is_cut for kind, _ in faults for is_cut in self.FAULTS[kind]]

    def fix_faults(self) -> None:
        self._server.cut_next = []

    def search_catches_up(self) -> None:
        """Do nothing, because Amazon SES has no search."""

    def accepted(self) -> list[tuple[str, str]]:
        """Return delivery key and id of every accepted copy."""
        # A long header is folded.
        proofs = [message["X-Homing-Copy"].strip() for message in self._server.accepted]
        keys = [proof.rpartition("@")[0] for proof in proofs]
        return list(zip(keys, self._server.ids, strict=True))


class Provider:
    """A client of the provider's process. Every process has its own connection.

    `environment` has the settings by which Homing sends to this provider.
    """

    def __init__(self, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash_points.provider", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self._desk, self.environment = json.loads(self._process.stdout.readline())
        self._line: tuple[int, Connection] | None = None

    def ask(self, question: str, *arguments: Any) -> Any:
        if self._line is None or self._line[0] != os.getpid():
            self._line = (os.getpid(), Client(self._desk, "AF_UNIX"))
        line = self._line[1]
        line.send((question, arguments))
        return line.recv()

    def end(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=30)


def main() -> None:
    """Run until the parent process has ended."""
    with ExitStack() as stack:
        desk: Desk
        if sys.argv[1] == "django":
            desk = SmtpDesk(stack.enter_context(SmtpServer()))
        elif sys.argv[1] == "amazon":
            desk = AmazonDesk(stack.enter_context(AmazonServer(sender="letter@example.org")))
        else:
            desk = PostmarkDesk(stack.enter_context(SandboxServer()))
        listener = stack.enter_context(Listener(family="AF_UNIX"))
        print(json.dumps([listener.address, desk.environment]), flush=True)

        def answer() -> None:
            while True:
                caller = listener.accept()
                threading.Thread(target=desk.serve, args=(caller,), daemon=True).start()

        threading.Thread(target=answer, daemon=True).start()
        sys.stdin.read()


if __name__ == "__main__":
    main()
