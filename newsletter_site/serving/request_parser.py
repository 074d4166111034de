"""Read requests within limits, and answer requests that cannot be read."""

import logging
import re
import time
from io import RawIOBase
from typing import Any, NoReturn

from django.conf import settings
from waitress import utilities
from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ErrorTask

from api.problem import ProblemType
from newsletter_site.middleware.error_pages import refuse_unread

logger = logging.getLogger(__name__)

# The longest API call has parameters of 255 and 300 characters, and an encoded character takes up
# to 12 bytes of the address.
LINE_BYTES = 8190
HEADERS = 100
HEADER_BYTES = 64 * 1024
# Bodies up to this size stay in memory. A larger body is written to a file, so first ask the site
# whether it accepts the body.
IN_MEMORY = 512 * 1024
# A request has this time to arrive. Each received byte adds the time that it takes at the slowest
# allowed rate.
ARRIVES_WITHIN_S = 15.0
SLOWEST_BYTES_PER_S = 50_000

_PATH = re.compile(rb"\s*[A-Z]+ (?:https?://[^/ ]*)?(/[^ ?]*)")
DETAILS = {
    ProblemType.FAILED: "The server failed. Repeat the call with the same key. See the log.",
    ProblemType.ADDRESS_TOO_LONG: (
        f"The address has more than {LINE_BYTES:,} bytes, with its parameters. "
        "Nothing was changed. Shorten it."
    ),
    ProblemType.HEADERS_TOO_LARGE: (
        f"There are more than {HEADERS} headers, one has more than {LINE_BYTES:,} bytes, or all "
        f"have more than {HEADER_BYTES:,}. Nothing was changed. Send fewer headers."
    ),
    ProblemType.TOO_LARGE: "The body is larger than any file may be. Nothing was changed.",
    ProblemType.NOT_READABLE: (
        "The request was cut off, or is not valid HTTP/1.1. Nothing was changed."
    ),
    ProblemType.TOO_SLOW: (
        "The request took too long to arrive. Nothing was changed. Send it again."
    ),
    ProblemType.NOT_AVAILABLE: (
        "Too many large requests are arriving. Nothing was changed. Send yours again in a minute."
    ),
}
_BY_STATUS = {kind.status: kind for kind in DETAILS}


def largest_body() -> int:
    """Return the size limit of bodies: an import's file and the fields around it."""
    return (settings.IMPORT_MAX_MB + 10) * 1024 * 1024


class BodyAwaited(BaseException):
    """The site reads a body that has not arrived completely.

    This is a BaseException, so no `except Exception` catches it: transactions roll back, and no
    error is logged or counted.
    """


class _Awaited(RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> NoReturn:
        raise BodyAwaited


class RequestParser(HTTPRequestParser):
    """One request, read within our limits."""

    # The part of the header that has arrived so far.
    header_plus: bytes = b""
    # True if the site has been asked whether it refuses the request because of its header.
    is_asked = False

    def __init__(self, adj: Adjustments) -> None:
        super().__init__(adj)
        self.began_s = time.monotonic()

    def parse_header(self, header_plus: bytes) -> None:
        """Check the limits that waitress does not have. Raise ParsingError."""
        # If a header is too long, waitress replaces it by a shorter header. Keep the longest
        # header, because it contains the path of the refused request.
        self.header_plus = max(self.header_plus, header_plus, key=len)
        first, *lines = header_plus.split(b"\r\n")
        if len(first) > LINE_BYTES:
            raise ParsingError(ProblemType.ADDRESS_TOO_LONG)
        if len(lines) > HEADERS + 2 or max(map(len, lines)) > LINE_BYTES:  # two lines are empty
            raise ParsingError(ProblemType.HEADERS_TOO_LARGE)
        if any(line.startswith((b" ", b"\t")) for line in lines):
            raise ParsingError(ProblemType.NOT_READABLE)
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # a length of thousands of digits, or an unfinished address
            raise ParsingError(ProblemType.NOT_READABLE) from error
        if self.version not in ("1.0", "1.1"):
            raise ParsingError(ProblemType.NOT_READABLE)
        if self.chunked:
            # waitress removes this header, but the API needs it to refuse bodies of unknown length.
            self.headers["TRANSFER_ENCODING"] = "chunked"

    def get_body_stream(self) -> Any:
        return super().get_body_stream() if self.completed else _Awaited()

    def time_left_s(self) -> float:
        """Return the seconds that are left for the request to arrive."""
        received: int = self.header_bytes_received + self.body_bytes_received
        allowed_s = ARRIVES_WITHIN_S + received / SLOWEST_BYTES_PER_S
        return self.began_s + allowed_s - time.monotonic()

    @property
    def on_disk(self) -> int:
        """Return the bytes of a large body, including bytes that have not arrived yet."""
        size: int = max(self.content_length, self.body_bytes_received)
        return size if size > IN_MEMORY else 0

    def refuse(self, kind: ProblemType) -> None:
        """Answer with an error instead of waiting for the rest of the request."""
        self.error = utilities.BadRequest(kind)
        self.completed = True


class RefusalTask(ErrorTask):
    """Answer a request that was not read, with a problem document or a page."""

    def execute(self) -> None:
        self.channel.is_unread = True
        self.version = "1.1"
        error = self.request.error
        kind = error.body
        if not isinstance(kind, ProblemType):  # waitress found the error
            kind = _BY_STATUS.get(error.code, ProblemType.NOT_READABLE)
        if kind is not ProblemType.FAILED:  # its traceback is logged
            logger.warning("a request was refused unread: %s", kind.title)
        found = _PATH.match(self.channel.requests[0].header_plus)
        path = found[1].decode("latin-1") if found else ""
        response = refuse_unread(path, kind, DETAILS[kind])
        response["Cache-Control"] = "no-store"
        if kind is ProblemType.NOT_AVAILABLE:
            response["Retry-After"] = "60"
        self.status = f"{response.status_code} {response.reason_phrase}"
        self.response_headers = list(response.items())
        self.set_close_on_finish()
        self.content_length = len(response.content)
        self.write(response.content)
