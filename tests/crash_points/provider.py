"""The provider of the crash points: the sandbox, in a process behind a proxy.

The proxy forwards every byte. On request the proxy kills the process that made a call: after the
sandbox's answer has arrived, and before any byte of it is forwarded.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import orjson

from postmark_sandbox.server import SandboxServer
from postmark_sandbox.state.accepted_messages import Message
from postmark_sandbox.times import utc_text

PIECE = 65536


class Proxy:
    """A proxy in front of the sandbox, at a separate address."""

    def __init__(self, sandbox_port: int) -> None:
        self._sandbox_port = sandbox_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._victim: int | None = None
        self._lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
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
        sandbox = socket.create_connection(("127.0.0.1", self._sandbox_port))
        sandbox.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The process that made the call of this connection, if it has to be killed.
        victims: list[int] = []
        back = threading.Thread(target=self._back, args=(sandbox, caller, victims), daemon=True)
        back.start()
        with contextlib.suppress(OSError):
            while piece := caller.recv(PIECE):
                with self._lock:
                    if self._victim is not None:
                        victims.append(self._victim)
                        self._victim = None
                sandbox.sendall(piece)
        _shut(sandbox)
        back.join()
        caller.close()
        sandbox.close()

    @staticmethod
    def _back(sandbox: socket.socket, caller: socket.socket, victims: list[int]) -> None:
        with contextlib.suppress(OSError):
            while True:
                piece = sandbox.recv(PIECE)
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
    """The questions that other processes ask the provider, with a method for each."""

    def __init__(self, server: SandboxServer, proxy: Proxy) -> None:
        self._sandbox = server.sandbox
        self._door = proxy

    def begin(self, faults: list[tuple[str, dict[str, Any]]]) -> None:
        """Reset everything; start with these faults."""
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

    def kill_when_answered(self, pid: int) -> None:
        self._door.kill_when_answered(pid)

    def accepted(self) -> list[tuple[str, str]]:
        """Return delivery key and id of every accepted copy."""
        return [(message.metadata["delivery"], message.id) for message in self._messages()]

    def _messages(self) -> list[Message]:
        outbox = self._sandbox.outbox
        messages = [outbox.message(number) for number in range(outbox.count)]
        return [message for message in messages if "delivery" in message.metadata]

    def serve(self, caller: Connection) -> None:
        """Answer one process until it ends."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                question, arguments = caller.recv()
                caller.send(getattr(self, question)(*arguments))


class Provider:
    """A client of the provider's process. Every process has its own connection."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash_points.provider"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url, self._desk = self._process.stdout.readline().split()
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
    with SandboxServer() as server:
        proxy = Proxy(server.port)
        desk = Desk(server, proxy)
        with Listener(family="AF_UNIX") as listener:
            print(proxy.url, listener.address, flush=True)

            def answer() -> None:
                while True:
                    caller = listener.accept()
                    threading.Thread(target=desk.serve, args=(caller,), daemon=True).start()

            threading.Thread(target=answer, daemon=True).start()
            sys.stdin.read()


if __name__ == "__main__":
    main()
