"""The Postmark client: it returns one result for each call, and never retries.

The results are defined in `call_results.py`. One deadline applies to the whole call. The deadline
is checked again just before the first byte, because the process may have been frozen. Proxies and
the file `.netrc` are ignored.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal
from urllib.parse import quote, urlencode

import orjson

from delivery.postmark import classify_responses
from delivery.postmark.classify_responses import Listing, Parsed
from delivery.provider.deadline_clock import now_s
from delivery.provider.http_connection import (
    NETWORK_ERRORS,
    Connection,
    RawResponse,
    ResponseTooLongError,
    TooLateToStartError,
)
from delivery.provider.provider_protocol import SEARCH, SUPPRESSION_CHANGE, SUPPRESSION_LIST
from delivery.redact_addresses import read_text
from delivery.rules.call_results import (
    CallResult,
    FoundMessage,
    LookupResult,
    NotSent,
    SearchAnswered,
    SearchFailed,
    Unanswered,
)
from delivery.rules.reason import Reason, ReasonCode

_BATCH = "/email/batch"
# A worker reads the stream's setting when it starts. The worker must start even if Postmark does
# not answer.
STREAM_CHECK_TIMEOUT_S = 5.0
# No value of the stream's setting has more characters than this.
MAX_HANDLING_LENGTH = 40
# The maximum number of results on a page of the search, and of messages in a batch.
PAGE_SIZE = 500
# Postmark's limit for `count + offset`.
MAX_SEARCH_RESULTS = 10_000


def _nothing() -> None:
    pass


def _suppressions(stream: str) -> str:
    return f"/message-streams/{quote(stream, safe='')}/suppressions"


class Postmark:
    """A client for one server and one thread. A call takes at most `deadline_s`."""

    def __init__(self, base_url: str, token: str, *, deadline_s: float) -> None:
        self._base_url = base_url
        self.deadline_s = deadline_s
        headers = {
            "X-Postmark-Server-Token": token,
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "Homing",
        }
        self._connection = Connection(base_url, headers, deadline_s=deadline_s)

    def close(self) -> None:
        """Close the idle connection."""
        self._connection.close()

    def send(
        self,
        body: bytes,
        addresses: Sequence[str],
        *,
        deadline_at_s: float,
        about_to_complete: Callable[[], None] = _nothing,
    ) -> CallResult:
        """Send one batch: the JSON array `body` of the messages to `addresses`, in order.

        `deadline_at_s` is a time on the clock of `now_s()`. After this time, nothing is written.
        `about_to_complete` is called once, just before the last piece is written. Before
        `about_to_complete` is called, the provider cannot have received the whole request. If
        `about_to_complete` raises an error, the call ends.
        """
        answer = self._call(
            "POST", _BATCH, body, deadline_at_s, about_to_complete=about_to_complete
        )
        return (
            classify_responses.classify_call(*answer, addresses)
            if isinstance(answer, RawResponse)
            else answer
        )

    def search(
        self, field_name: str, value: str, *, stream: str, deadline_at_s: float
    ) -> LookupResult:
        """Find all messages on `stream` whose metadata `field_name` is `value`.

        Reads all pages. Without a stream, Postmark searches only the transactional stream.
        """
        found: list[FoundMessage] = []
        listed = total = 0
        parse = partial(classify_responses.parse_search, field_name=field_name, value=value)
        listing = Listing(classify_responses.MESSAGES.path, SEARCH, parse)
        filters = {f"metadata_{field_name}": value}
        for offset in range(0, MAX_SEARCH_RESULTS, PAGE_SIZE):
            page = self.page(
                listing, filters, stream=stream, offset=offset, deadline_at_s=deadline_at_s
            )
            if isinstance(page, SearchFailed):
                return page
            found.extend(page.found)
            listed += page.listed
            total = page.total
            if page.listed < PAGE_SIZE:
                break
        if listed < total:
            # The search did not show every message. The message we look for may be missing.
            return SearchFailed(Reason.of(ReasonCode.QUERY_INCOMPLETE, subject=SEARCH))
        return SearchAnswered(tuple(found))

    def page(
        self,
        listing: Listing[Parsed],
        filters: Mapping[str, str],
        *,
        stream: str,
        offset: int,
        deadline_at_s: float,
    ) -> Parsed | SearchFailed:
        """Read one page of a listing on a stream under `filters` (`tag`, `fromdate`, …)."""
        query = {"count": PAGE_SIZE, "offset": offset, "messagestream": stream, **filters}
        path = f"{listing.path}?{urlencode(query)}"
        raw = self._call("GET", path, b"", deadline_at_s)
        return classify_responses.parse_query(raw, listing.subject, listing.parse)

    def sent_headers(
        self, message_id: str, *, deadline_at_s: float
    ) -> Mapping[str, str] | SearchFailed:
        """Read the headers of a message as it was sent, by their names in lower case."""
        path = f"{classify_responses.MESSAGES.path}/{quote(message_id, safe='')}/details"
        raw = self._call("GET", path, b"", deadline_at_s)
        return classify_responses.parse_query(raw, SEARCH, classify_responses.parse_sent_headers)

    def list_suppressions(
        self,
        stream: str,
        *,
        filters: Mapping[str, str],
        write: Callable[[bytes], object],
        deadline_at_s: float,
    ) -> SearchFailed | None:
        """Pass a stream's suppression list to `write` in chunks.

        Postmark has no pages of this list. The list is complete only if this method returns None.
        Errors of `write` end the call.
        """
        path = f"{_suppressions(stream)}/dump?{urlencode(filters)}".rstrip("?")
        raw = self._call("GET", path, b"", deadline_at_s, write=write)
        return classify_responses.error_of(raw, SUPPRESSION_LIST)

    def change_suppressions(
        self,
        change: Literal["suppress", "reactivate"],
        stream: str,
        addresses: Sequence[str],
        *,
        deadline_at_s: float,
    ) -> Mapping[str, str] | SearchFailed:
        """Change the suppressions of at most 50 addresses.

        Returns each address with the reason why Postmark refused its change. The reason is empty if
        the address was changed. Addresses are case-folded.
        """
        path = _suppressions(stream) if change == "suppress" else f"{_suppressions(stream)}/delete"
        body = orjson.dumps({"Suppressions": [{"EmailAddress": each} for each in addresses]})
        raw = self._call("POST", path, body, deadline_at_s)
        return classify_responses.parse_query(
            raw, SUPPRESSION_CHANGE, classify_responses.parse_suppression_results
        )

    def unsubscribe_handling(self, stream: str) -> str | None:
        """Read who handles the stream's unsubscribes.

        Postmark's values are `None`, `Postmark` and `Custom`; None means unknown.
        """
        deadline_at_s = now_s() + min(self.deadline_s, STREAM_CHECK_TIMEOUT_S)
        path = f"/message-streams/{quote(stream, safe='')}"
        raw = self._call("GET", path, b"", deadline_at_s)
        if not isinstance(raw, RawResponse) or raw.status != 200:
            return None
        try:
            settings = orjson.loads(raw.body)["SubscriptionManagementConfiguration"]
            handling = settings["UnsubscribeHandlingType"]
        except (ValueError, KeyError, TypeError):
            return None
        return read_text(handling, MAX_HANDLING_LENGTH) if isinstance(handling, str) else None

    def _call(
        self,
        method: str,
        path: str,
        body: bytes,
        deadline_at_s: float,
        *,
        write: Callable[[bytes], object] | None = None,
        about_to_complete: Callable[[], None] = _nothing,
    ) -> RawResponse | NotSent | Unanswered:
        """Make one call.

        A successful response is passed to `write`, if given, and is not kept.
        """
        if now_s() >= deadline_at_s:
            return NotSent(Reason.of(ReasonCode.NO_TIME_LEFT))
        try:
            return self._connection.call(
                method,
                path,
                body,
                deadline_at_s=deadline_at_s,
                about_to_complete=about_to_complete,
                write=write,
            )
        except TooLateToStartError:
            return NotSent(Reason.of(ReasonCode.NO_TIME_LEFT))
        except ResponseTooLongError:
            return Unanswered(Reason.of(ReasonCode.RESPONSE_TOO_LONG))
        except NETWORK_ERRORS as error:
            kind = type(error).__name__
            if not self._connection.wrote:
                return NotSent(Reason.of(ReasonCode.NO_CONNECTION, url=self._base_url, error=kind))
            # A socket may end its wait a moment before the deadline.
            if now_s() >= deadline_at_s - 0.05:
                return Unanswered(Reason.of(ReasonCode.NO_RESPONSE_IN_TIME))
            return Unanswered(Reason.of(ReasonCode.CONNECTION_BROKE, error=kind))
