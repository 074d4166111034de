"""Why a batch waits, a delivery failed or an edition stopped: codes with their sentences. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import Any, Self


class Sentence(StrEnum):
    """A code, which is the name in lower case, and the lines of its sentences."""

    template: str

    def __new__(cls, code: str, *lines: str) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.template = " ".join(lines)
        return member

    @classmethod
    def template_of(cls, code: str) -> str:
        """The sentences of a code; empty if a newer version wrote it."""
        try:
            return cls(code).template
        except ValueError:
            return ""


class ReasonCode(Sentence):
    """Every reason there is, with a sentence that its parameters fill, and perhaps a `remedy`.
    `reports/reason_sentences.py` computes the others; there the comment names the parameters."""

    # A call that never reached the provider.
    NO_TIME_LEFT = auto(), "The time for the call had ended before its first byte."
    NO_CONNECTION = auto(), "No connection to Postmark at {url} ({error})."
    DATABASE_AWAY = auto(), "The database was away when the call was about to start."

    # A call without a usable response.
    NO_RESPONSE_IN_TIME = auto(), "No complete answer came before the deadline."
    CONNECTION_BROKE = auto(), "The connection broke before the answer ({error})."
    RESPONSE_TOO_LONG = auto(), "Postmark's answer was too long."
    RESPONSE_UNREADABLE = auto(), "Postmark's answer could not be read."
    RESPONSE_COUNT_WRONG = auto(), "Postmark answered for {answered} messages; {sent} were sent."
    RESPONSE_WITHOUT_RESULT = auto(), "Postmark's answer held neither an id nor an error."
    RESPONSE_FOR_OTHER_ADDRESS = auto(), "Postmark's answer names another address at this place."
    RESPONSE_REPEATS_ID = auto(), "Postmark's answer gave one id to several messages."
    STATUS_AMBIGUOUS = auto(), "Postmark answered {status}, which leaves open what it accepted."
    WORKER_LOST = auto(), "The worker was lost during the call; Postmark is asked about it."

    # What the provider said. `text` is its own sentence, bounded and cleaned.
    PROVIDER_ERROR = auto(), "Postmark refuses: “{text}” (code {error_code})."
    CALL_REFUSED_FOR_ONE = auto(), "Postmark refused the whole call: “{text}” (code {error_code})."
    INACTIVE_RECIPIENT = (
        auto(),
        "Postmark will not mail this address (code 406): it is inactive there.",
    )
    MAINTENANCE = auto(), "Postmark is under maintenance."
    TOO_FAST = auto(), "Postmark asked for a slower pace (429)."
    CALL_TOO_LARGE = auto(), "Postmark found the call too large ({status})."
    TOKEN_REFUSED = auto(), "Postmark does not accept the token (401)."
    BLOCKED_BEFORE_PROVIDER = auto(), "Something before Postmark refuses the call (403)."
    MEDIA_TYPE_REFUSED = auto(), "Postmark refuses the form of the call (415)."
    NOT_THE_API = auto(), "Postmark's address answered {status}, which is no answer of its API."

    # What a look-up or another question to the provider led to.
    QUERY_STATUS = auto(), "Postmark's {subject} answered {status}, which says nothing."
    QUERY_UNREADABLE = auto(), "Postmark's {subject} gave an answer that could not be read."
    QUERY_INCOMPLETE = auto(), "Postmark's {subject} did not show all that it says it has."
    NO_ROOM_FOR_LIST = (
        auto(),
        "Postmark's suppression list could not be put into the folder for temporary files:",
        "{error}.",
    )
    BROKE_OFF = auto(), "It broke off; the log says why."
    LOOKUP_LAGS = auto(), "Postmark's search does not show later mail yet; it is asked again."
    NOT_FOUND = auto(), "No answer came, and Postmark's search does not show it."
    NOT_FOUND_YET = auto(), "Not found by Postmark's search yet, which proves nothing this early."
    NOT_FOUND_HELD = (
        auto(),
        "No answer came, Postmark's search does not show them, and they may not be sent again",
        "automatically: a person decides.",
    )
    NOT_FOUND_RESENT = (
        auto(),
        "No answer came and Postmark surely does not have them: they go again.",
    )
    PROVIDER_HAS_FORGOTTEN = (
        auto(),
        "No answer came, and it was so long ago that Postmark has forgotten it",
        "(POSTMARK_RETENTION_DAYS): a person decides.",
    )
    ASKED_AGAIN = auto(), "A person had Postmark asked again."
    RESENT_BY_OPERATOR = auto(), "A person had them sent again."
    MARKED_UNSETTLED = (
        auto(),
        "It bears a mark of having been sent, but is not settled: Postmark is asked.",
    )

    # Why a delivery was not sent.
    LEFT = auto(), "Left the list before this copy was sent."
    NOT_HELD_ANY_MORE = auto(), "The address was deleted before this mail was sent."
    ON_SUPPRESSION_LIST = auto(), "On the list of addresses that may not be mailed."
    EDITION_CANCELLED = auto(), "The issue was cancelled before this copy was sent."
    EDITION_CALLED_BACK = auto(), "The issue was called back before this copy was sent."
    TRIES_USED_UP = auto()  # tries, last (a Reason)
    PARKED = auto(), "Parked: {crashes} workers in a row were lost with it, the last with it alone."
    ERASED = auto(), "The reader had themselves erased."
    NEVER_CONFIRMED = auto(), "The reader never confirmed, and is forgotten."

    # Why an edition does not run.
    CALLED_BACK = auto(), "Called back before the first copy left."
    CALLED_BACK_BEFORE_ITS_TIME = auto(), "Called back before its time."
    RESTORED = (
        auto(),
        "This database is not the one that the workers knew: it was restored, moved or promoted,",
        "so copies may have gone out that it does not know of. Run `./homing reconcile {issue}`;",
        "the edition goes on automatically once Homing has compared itself with Postmark's record.",
    )
    SENT_BEFORE_RESTORE = (
        auto(),
        "It went out before the database was restored from a backup: Postmark has copies of it.",
        "Who has one gets no second; resume it for everybody else who is confirmed, or cancel it.",
    )
    ACCEPTED_TWICE = (
        auto(),
        "Postmark accepted a second copy for some of its readers. Compare Postmark's activity",
        "with the record before resuming.",
    )
    BOUNCE_RATE = auto()  # count, left, percent, limit
    COMPLAINT_RATE = auto()  # count, left, percent, limit
    STARTED_LATE = auto()  # scheduled_for, local, zone, started_at; times in ISO 8601

    # What an alarm is about, besides the rates above.
    SECOND_COPY = auto()  # recipient, message_ids
    DELIVERY_MARKED_UNSETTLED = (
        auto(),
        "The copy of reader {recipient} bears a mark of having been sent without being settled;",
        "Postmark is asked about it.",
    )
    NOT_AT_PROVIDER = (
        auto(),
        "The copy of reader {recipient} is recorded as sent, and Postmark does not show it. It",
        "was not sent again.",
    )

    # A text that is no value of this kind, such as one that was written by hand.
    OTHER = auto(), "{text}"


class Remedy(Sentence):
    """What a person must do before an edition can go on."""

    TOKEN = auto(), "Check POSTMARK_SERVER_TOKEN: it must be the token of a Postmark server."
    ENABLE_API = auto(), "Ask Postmark's support to enable this API for the account."
    CONFIRM_SENDER = auto(), "Confirm the address or domain of FROM_EMAIL in Postmark, then resume."
    CONFIRM_SIGNATURE = (
        auto(),
        "Confirm the sender signature of FROM_EMAIL in Postmark, then resume.",
    )
    PLAN_AND_CREDITS = auto(), "Check the plan and credits of the Postmark account, then resume."
    WAIT_FOR_APPROVAL = auto(), "Wait until Postmark has approved the account, then resume."
    ASK_PROVIDER = auto(), "Ask Postmark why this account may not send, then resume."
    TOKEN_AND_SERVER = (
        auto(),
        "Check POSTMARK_SERVER_TOKEN and the Postmark server it belongs to, then resume.",
    )
    STREAM_NAMES = (
        auto(),
        "Check POSTMARK_BROADCAST_STREAM and POSTMARK_TRANSACTIONAL_STREAM, then resume.",
    )
    STREAM_THAT_SENDS = (
        auto(),
        "Name a stream that can send in POSTMARK_BROADCAST_STREAM, then resume.",
    )
    ALLOWED_IPS = (
        auto(),
        "Put this machine's address on the Postmark server's list of allowed IPs, then resume.",
    )
    SIGNATURES_AND_DOMAINS = auto(), "Check sender signatures and domains in Postmark, then resume."
    SERVER_SETTINGS = auto(), "Check the settings of the Postmark server, then resume."
    STREAM_SETTINGS = auto(), "Check the message streams of the Postmark server, then resume."
    FROM_AND_REPLY_TO = auto(), "Check FROM_EMAIL and the reply-to, then resume."
    CORRECT_ISSUE = auto(), "Correct the issue; then publish it again as a new version."
    SHORTEN_ISSUE = auto(), "Shorten the issue: a single copy of it is too large."
    NETWORK = auto(), "Check POSTMARK_BASE_URL and the network between this machine and Postmark."
    BASE_URL = auto(), "Check POSTMARK_BASE_URL, then resume."
    HOMING_FAULT = (
        auto(),
        "This is a fault of Homing, not of the list; no reader was marked as failed.",
    )
    LOOK_UP_CODE = (
        auto(),
        "Homing does not know this code, so it stopped before any reader was marked as failed.",
        "Look it up in Postmark's documentation, then resume.",
    )


@dataclass(frozen=True, slots=True)
class Reason:
    """A code and what its sentence needs. A code of a newer version is kept as it is."""

    code: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, code: ReasonCode, **params: Any) -> Reason:
        """The reason with these parameters."""
        return cls(code, params)

    def with_params(self, **params: Any) -> Reason:
        """The same reason with more parameters."""
        return Reason(self.code, {**self.params, **params})

    @classmethod
    def loads(cls, text: str | None) -> Reason | None:
        """The reason that a column holds; None if it is null or empty."""
        if not text:
            return None
        try:
            found = json.loads(text, object_hook=lambda value: cls(str(value.pop("code")), value))
        except (ValueError, KeyError):
            found = None
        return found if isinstance(found, cls) else cls.of(ReasonCode.OTHER, text=text)

    def dumps(self) -> str:
        """The reason as a column holds it."""
        return json.dumps(
            self,
            default=lambda reason: {"code": reason.code, **reason.params},
            ensure_ascii=False,
            separators=(",", ":"),
        )

    def __str__(self) -> str:
        """For log lines, where “quoted” text of the provider is redacted."""
        shown = {
            name: f"“{value}”" if name == "text" else value for name, value in self.params.items()
        }
        return " ".join([self.code, *(f"{name}={value}" for name, value in shown.items())])


def dumps(reason: Reason | None) -> str:
    """The reason as a column holds it; empty for None."""
    return reason.dumps() if reason else ""
