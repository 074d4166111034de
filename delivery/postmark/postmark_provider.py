"""Postmark as a provider: what Homing asks, in the calls of Postmark's API."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import orjson
from django.conf import settings
from django.core.checks import CheckMessage
from django.utils.translation import gettext_noop

from delivery.mail.message_for_reader import Message
from delivery.postmark import check_postmark_settings, message_rules, parse_events, walk_messages
from delivery.postmark.classify_responses import BOUNCE_LIST
from delivery.postmark.client import MAX_SEARCH_RESULTS, PAGE_SIZE, Postmark
from delivery.postmark.remedy_sentences import REMEDIES
from delivery.postmark.search_windows import Window, span_around, to_eastern
from delivery.provider.deadline_clock import now_s
from delivery.provider.event_fields import parse_trace
from delivery.provider.events import AddressSuppressed, WebhookEvent
from delivery.provider.provider_protocol import (
    BOUNCES,
    CHECK_FIELD,
    SUPPRESSION_LIST,
    Ask,
    Asks,
    Capabilities,
    CheckMail,
    Judged,
    Provider,
    QueryFailedError,
    SenderRecords,
)
from delivery.rules.call_results import FoundMessage, MessagePage, SearchFailed
from delivery.rules.reason import Reason, ReasonCode

# Postmark's limit of messages in a call, and the default (docs/performance.md).
LARGEST_BATCH, BATCH = 500, 200
# If Postmark handles unsubscribes, it replaces this text by its own link.
UNSUBSCRIBE_PLACEHOLDER = "{{{ pm:unsubscribe }}}"
KEEP_ID = {"Name": "X-PM-KeepID", "Value": "true"}
# Postmark's address for tests: mail to it is accepted, listed in the search and dropped.
CHECK_MAIL_ADDRESS = "test@blackhole.postmarkapp.com"
CHECK_MAIL_TEXT = "homing-check-mail"
UNTRACKED = {"TrackOpens": False, "TrackLinks": "None"}
IN_MEMORY_BYTES = 1024 * 1024
RECORDS = SenderRecords(
    spf="mtasv.net",
    return_path="pm-bounces",
    dkim="pm._domainkey",
    page="Sender Signatures",
    records=((gettext_noop("Return path, CNAME"), "pm-bounces", "pm.mtasv.net"),),
)


class PostmarkProvider(Postmark, Provider):
    """A client of the configured Postmark server."""

    def __init__(self) -> None:
        super().__init__(
            settings.POSTMARK_BASE_URL,
            settings.POSTMARK_SERVER_TOKEN,
            deadline_s=settings.DELIVERY_HTTP_DEADLINE_S,
        )

    @classmethod
    def capabilities(cls) -> Capabilities:
        """Return what Postmark can do; the operator says for how long it remembers."""
        is_own = settings.UNSUBSCRIBE_HANDLING == "own"
        return Capabilities(
            name="Postmark",
            asks=Asks.BY_ATTEMPT,
            largest_batch=LARGEST_BATCH,
            batch=BATCH,
            remembers_days=settings.POSTMARK_RETENTION_DAYS,
            remembers_setting="POSTMARK_RETENTION_DAYS",
            path="postmark",
            login_settings=("POSTMARK_WEBHOOK_USER", "POSTMARK_WEBHOOK_PASSWORD"),
            webhook_events=parse_events.WEBHOOK_TYPES,
            has_streams=True,
            has_record=True,
            has_suppression_list=True,
            lists_bounces=True,
            unsubscribe_placeholder="" if is_own else UNSUBSCRIBE_PLACEHOLDER,
            console_url="https://account.postmarkapp.com/servers",
            sender_records=RECORDS,
        )

    @classmethod
    def check_settings(cls) -> Iterable[CheckMessage]:
        """Yield the problems of Postmark's settings."""
        return check_postmark_settings.find_problems()

    @classmethod
    def remedy_sentence(cls, remedy: str) -> str:
        """Return what to do in Postmark, or in the settings for Postmark."""
        return str(REMEDIES.get(remedy, ""))

    @classmethod
    def shape(cls, message: Message) -> Mapping[str, Any]:
        """Return a message as `POST /email/batch` takes it."""
        message_id, *others = ({"Name": name, "Value": value} for name, value in message.headers)
        parts = {"HtmlBody": message.html, "TextBody": message.text}
        return {
            "From": message.sender,
            "Tag": message.tag,
            **UNTRACKED,
            "MessageStream": message.stream,
            **({"ReplyTo": message.reply_to} if message.reply_to else {}),
            "To": message.to,
            "Subject": message.subject,
            "Metadata": message.metadata,
            "Headers": [message_id, KEEP_ID, *others],
            **{name: part for name, part in parts.items() if part},
        }

    @classmethod
    def judge(cls, call: bytes) -> Iterator[Judged]:
        """Judge each message of a call by Postmark's rules, without a call."""
        for message, refusal in message_rules.find_refusals(call):
            html, text = (message.get(name, "").encode() for name in ("HtmlBody", "TextBody"))
            yield Judged(len(html), len(text), refusal)

    def check_mail(self, sender: str, stream: str, check: str) -> CheckMail:
        """Return a mail to Postmark's address for tests."""
        message = {
            "From": sender,
            "To": CHECK_MAIL_ADDRESS,
            "Subject": CHECK_MAIL_TEXT,
            "TextBody": CHECK_MAIL_TEXT,
            **UNTRACKED,
            "MessageStream": stream,
            "Metadata": {CHECK_FIELD: check},
        }
        return CheckMail(orjson.dumps([message]), CHECK_MAIL_ADDRESS)

    def walk(
        self, tag: str, *, stream: str, first: datetime, last: datetime, ask: Ask[MessagePage]
    ) -> Iterator[tuple[Sequence[FoundMessage], int]]:
        """Yield all messages with this tag, by page, with their number."""
        return walk_messages.iter_pages(self, tag, stream, span_around(first, last), ask)

    def bounces(self, stream: str, *, since: datetime, call_s: float) -> Iterator[Sequence[bytes]]:
        """Yield the bounces and complaints since then, as bodies of events, by page."""
        until: datetime | None = None
        oldest_at: datetime | None = None
        while True:
            window = Window(to_eastern(since), to_eastern(until) if until else None)
            for offset in range(0, MAX_SEARCH_RESULTS, PAGE_SIZE):
                page = self.page(
                    BOUNCE_LIST,
                    window.query(),
                    stream=stream,
                    offset=offset,
                    deadline_at_s=now_s() + min(call_s, self.deadline_s),
                )
                if isinstance(page, SearchFailed):
                    raise QueryFailedError(page.reason, page.retry_after_s)
                yield page.events
                oldest_at = page.oldest_at
                if not page.events or offset + PAGE_SIZE >= page.total:
                    return
            # One search shows a limited number of results. All further results are older than the
            # last result shown, so the next search covers the time up to that result.
            earlier = oldest_at + timedelta(seconds=1) if oldest_at is not None else None
            if earlier is None or (until is not None and to_eastern(earlier) >= to_eastern(until)):
                raise QueryFailedError(Reason.of(ReasonCode.QUERY_INCOMPLETE, subject=BOUNCES))
            until = earlier

    def suppressions(
        self, stream: str, *, since: datetime | None, keep_on: Callable[[], None]
    ) -> Iterator[Sequence[tuple[AddressSuppressed, bytes]]]:
        """Yield the entries of the suppression list since then, in chunks.

        The list begins a day earlier than necessary, because Postmark reads the date in its zone.
        """
        filters = {"fromdate": f"{to_eastern(since - timedelta(days=2)):%Y-%m-%d}"} if since else {}
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as dump:
            refused = self.list_suppressions(
                stream,
                filters=filters,
                write=partial(_write, dump, keep_on),
                deadline_at_s=now_s() + self.deadline_s,
            )
            if refused is not None:
                raise QueryFailedError(refused.reason, refused.retry_after_s)
            dump.seek(0)
            entries = parse_events.iter_suppressions(dump, stream)
            try:
                while chunk := list(islice(entries, PAGE_SIZE)):
                    yield chunk
            except parse_events.UnreadableDumpError:
                raise QueryFailedError(
                    Reason.of(ReasonCode.QUERY_UNREADABLE, subject=SUPPRESSION_LIST)
                ) from None

    def find_unsubscribe_problem(self) -> Reason | None:
        """Compare the stream's handling of unsubscribes with ours."""
        return check_postmark_settings.find_unsubscribe_problem(self)

    @classmethod
    def webhook_login(cls) -> str:
        """Return the user and the password that Postmark's webhooks must have."""
        user, password = settings.POSTMARK_WEBHOOK_USER, settings.POSTMARK_WEBHOOK_PASSWORD
        return f"{user}:{password}" if user and password else ""

    @classmethod
    def split_webhook(
        cls, body: bytes, environ: Mapping[str, Any]
    ) -> Sequence[tuple[bytes, str | None]]:
        """Return the one event of a request, and the id that all its tries share."""
        return [(body, parse_trace(environ.get("HTTP_X_PM_WEBHOOK_TRACE_ID")))]

    @classmethod
    def parse_webhook(cls, body: bytes) -> WebhookEvent:
        """Read one event."""
        return parse_events.parse_webhook(body)


def _write(dump: IO[bytes], keep_on: Callable[[], None], chunk: bytes) -> None:
    keep_on()
    try:
        dump.write(chunk)
    except OSError as error:
        raise QueryFailedError(
            Reason.of(ReasonCode.NO_ROOM_FOR_LIST, error=str(error.strerror))
        ) from error
