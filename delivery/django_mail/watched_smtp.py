"""An SMTP connection that knows how far each message has come.

A server may deliver a message once it has the line with a single dot, which ends the content (RFC
5321, section 4.1.1.4). Until then, the message was certainly not sent. After it, only the server's
reply says whether the message was accepted.
"""

import smtplib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.utils import parseaddr
from functools import lru_cache, partial
from typing import Any

from django.core.mail.backends.smtp import EmailBackend
from django.core.mail.message import sanitize_address

from delivery.django_mail.classify_smtp import CLOSING
from delivery.provider.deadline_clock import now_s

CONNECT_TIMEOUT_S = 10.0
# The last piece of a message: the line with a single dot.
END = b".\r\n"
# An idle connection is checked with NOOP before it is used again: servers close idle connections.
IDLE_S = 5.0
# Bytes that were not sent before the deadline must not be sent after it.
_DISCARD_ON_CLOSE = (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@lru_cache(maxsize=1000)
def _envelope(mailbox: str) -> str:
    """Return the address of a mailbox, with an international domain in ASCII."""
    return parseaddr(sanitize_address(parseaddr(mailbox)[1], "utf-8"))[1]


def _is_usual(address: str) -> bool:
    return address.isascii() and not any(sign in address for sign in '<>"( ')


class TooLateError(OSError):
    """The deadline passed before this message's last byte was written."""


class Watch:
    """The deadline of a call, and what is certain about its current message.

    `is_complete`: the message's last byte may have been written.
    """

    def __init__(self) -> None:
        self.deadline_at_s = 0.0
        self.deadline_s = 0.0
        self.about_to_complete: Callable[[], None] | None = None
        self.is_complete = False
        self.connection: WatchedSmtp | None = None

    def may_complete(self) -> None:
        """Note that the message's last byte is written now."""
        before, self.about_to_complete = self.about_to_complete, None
        if before is not None:
            before()
        self.remaining_s()
        self.is_complete = True

    def remaining_s(self) -> float:
        """Return the seconds to the deadline. Raises `TooLateError` after it."""
        remaining_s = self.deadline_at_s - now_s()
        if remaining_s <= 0:
            raise TooLateError
        return remaining_s


class WatchedSmtp(smtplib.SMTP):
    """A connection that tells its watch when a message's last byte is written."""

    def __init__(self, *where: Any, watch: Watch, **options: Any) -> None:
        self._watch = watch
        self._is_content = False
        watch.connection = self
        super().__init__(*where, **options)

    def connect(self, *where: Any, **options: Any) -> tuple[int, bytes]:
        """Connect. Small pieces leave at once, and no byte arrives after the deadline."""
        answer = super().connect(*where, **options)
        if self.sock is not None:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if hasattr(socket, "TCP_USER_TIMEOUT"):
                unacknowledged_ms = max(1, int(self._watch.deadline_s * 1000))
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unacknowledged_ms)
        return answer

    def data(self, msg: Any) -> tuple[int, bytes]:
        """Send the content of a message; `send` sees its end."""
        self._is_content = True
        try:
            return super().data(msg)
        finally:
            self._is_content = False

    def send(self, s: Any) -> None:
        """Write a command or a message's content, not after the deadline."""
        self._set_timeout()
        if not (self._is_content and isinstance(s, bytes)):
            super().send(s)
            return
        super().send(s[: -len(END)])
        self._watch.may_complete()
        super().send(END)

    def getreply(self) -> tuple[int, bytes]:
        """Read a reply, until the deadline at the latest. After 421, close the connection.

        Postfix sends 421 right behind the reply to the last error that it allows. Then RSET gets
        it, and smtplib ignores the reply to RSET.
        """
        self._set_timeout()
        code, text = super().getreply()
        if code == CLOSING:
            self.close()
        return code, text

    def _set_timeout(self) -> None:
        if self.sock is not None:
            self.sock.settimeout(self._watch.remaining_s())


class WatchedSmtpOverTls(WatchedSmtp, smtplib.SMTP_SSL):
    """The same connection with TLS from its first byte."""


class WatchedBackend(EmailBackend):
    """Django's SMTP backend with a watched connection, kept between calls."""

    def __init__(self, watch: Watch, **settings: Any) -> None:
        super().__init__(**settings)
        self.watch = watch
        self._used_at_s = 0.0

    @property
    def connection_class(self) -> Any:
        """Return the class of the connection, with its watch."""
        return partial(WatchedSmtpOverTls if self.use_ssl else WatchedSmtp, watch=self.watch)

    @contextmanager
    def call(
        self, deadline_at_s: float, deadline_s: float, about_to_complete: Callable[[], None]
    ) -> Iterator[None]:
        """Limit the time of a call. At the deadline, every wait of the call ends.

        After an error, the connection is dropped.
        """
        watch = self.watch
        watch.deadline_at_s, watch.deadline_s = deadline_at_s, deadline_s
        watch.about_to_complete = about_to_complete
        # A timeout of a socket begins anew with every byte, so a slow server could exceed it.
        alarm = threading.Timer(max(0.0, deadline_at_s - now_s()), self._shut_down)
        alarm.daemon = True
        alarm.start()
        try:
            yield
            self._used_at_s = now_s()
        except BaseException:
            self.drop()
            raise
        finally:
            alarm.cancel()

    def make_ready(self) -> None:
        """Open the connection, or check that the kept one still works."""
        if not (self.is_open and self._still_works()):
            self.drop()
        if self.connection is None:
            self.timeout = min(CONNECT_TIMEOUT_S, self.watch.remaining_s())
            self.open()

    def _still_works(self) -> bool:
        if self.connection is None or now_s() - self._used_at_s < IDLE_S:
            return True
        try:
            return bool(self.connection.noop()[0] == 250)
        except (OSError, smtplib.SMTPException):
            return False

    def send_one(self, sender: str, address: str, message: bytes) -> None:
        """Send a written message over the open connection. Raises what `smtplib` raises."""
        self.watch.is_complete = False
        to = address if _is_usual(address) else _envelope(address)
        # Without a connection, `is_open` is false, and nothing is sent.
        assert self.connection is not None  # noqa: S101
        self.connection.sendmail(_envelope(sender), [to], message)

    @property
    def is_open(self) -> bool:
        """Whether the connection can take another message."""
        return self.connection is not None and self.connection.sock is not None

    def drop(self) -> None:
        """Close the connection without a QUIT."""
        connection = self.watch.connection
        if connection is not None:
            if connection.sock is not None:
                with suppress(OSError):
                    connection.sock.setsockopt(*_DISCARD_ON_CLOSE)
            connection.close()
        self.connection = self._partial_connection = self.watch.connection = None

    def _shut_down(self) -> None:
        connection = self.watch.connection
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
