"""A real SMTP server (aiosmtpd) on a loopback port, with faults on request."""

import asyncio
import ssl
import threading
from collections.abc import Callable
from email import message_from_bytes
from email.message import Message
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult

CUT = "cut the connection"
HANG = "answer nothing"


class SmtpServer:
    """A server that keeps what it accepts.

    `answers` maps a command and an address (or "") to a reply, `CUT` or `HANG`. A rule for DATA
    applies after the whole message arrived. `once` maps a command to the replies to its next calls;
    an empty reply accepts. With `login`, only this password is accepted.
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None, login: str = "") -> None:
        self.answers: dict[tuple[str, str], str] = {}
        self.once: dict[str, list[str]] = {}
        self.accepted: list[Message] = []
        self.recipients: list[str] = []
        self.connections = 0
        self._changed = threading.Condition()
        self.port = 0
        self._tls, self._login = tls, login
        self._is_ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> "SmtpServer":
        self._thread.start()
        assert self._is_ready.wait(timeout=20)
        return self

    def __exit__(self, *error: object) -> None:
        assert self._loop is not None
        assert self._end is not None
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(timeout=20)

    def wait_until_accepted(self, number: int) -> None:
        """Wait until this many messages were accepted."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.recipients) >= number, timeout=120)

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        options: dict[str, Any] = {"loop": self._loop, "tls_context": self._tls}
        if self._login:
            options |= {
                "authenticator": self._authenticate,
                "auth_require_tls": False,
            }
        sessions: list[SMTP] = []

        def begin() -> SMTP:
            sessions.append(SMTP(self, **options))
            return sessions[-1]

        serving = await self._loop.create_server(begin, "127.0.0.1", 0)
        self.port = serving.sockets[0].getsockname()[1]
        self._is_ready.set()
        await self._end.wait()
        serving.close()
        for session in sessions:
            if session.transport is not None:
                session.transport.abort()

    def _authenticate(
        self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any
    ) -> AuthResult:
        is_right = data.password.decode() == self._login
        return AuthResult(success=is_right, handled=False)

    async def handle_EHLO(  # noqa: N802 -- the names of aiosmtpd
        self, server: Any, session: Any, envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        self.connections += 1
        session.host_name = hostname
        return responses

    async def handle_MAIL(  # noqa: N802
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        rule = self._rule("MAIL", address)
        return await self._answer(server, rule, lambda: setattr(envelope, "mail_from", address))

    async def handle_RCPT(  # noqa: N802
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        rule = self._rule("RCPT", address)
        return await self._answer(server, rule, lambda: envelope.rcpt_tos.append(address))

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        (address,) = envelope.rcpt_tos

        def keep() -> None:
            with self._changed:
                self.accepted.append(message_from_bytes(envelope.content))
                self.recipients.append(address)
                self._changed.notify_all()

        rule = self._rule("DATA", address)
        if rule == CUT:
            keep()
        return await self._answer(server, rule, keep)

    def _rule(self, command: str, address: str) -> str:
        if self.once.get(command):
            return self.once[command].pop(0)
        return self.answers.get((command, address)) or self.answers.get((command, "")) or ""

    async def _answer(self, server: Any, rule: str, accept: Callable[[], object]) -> str:
        if rule == CUT:
            server.transport.abort()
        elif rule == HANG:
            await asyncio.sleep(60)
        elif not rule:
            accept()
        return rule if rule[:1].isdigit() else "250 OK"
