"""Codes for why a batch waits, a delivery failed or an edition stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import Any


class ReasonCode(StrEnum):
    """Every reason code. `reports/reason_sentences.py` has the sentence of each code."""

    # Why a call never reached the provider.
    NO_TIME_LEFT = auto()
    NO_CONNECTION = auto()  # url, error
    DATABASE_AWAY = auto()

    # Why a call has no usable response.
    NO_RESPONSE_IN_TIME = auto()
    CONNECTION_BROKE = auto()  # error
    CONNECTION_ENDED = auto()
    RESPONSE_TOO_LONG = auto()
    RESPONSE_UNREADABLE = auto()
    RESPONSE_COUNT_WRONG = auto()  # answered, sent
    RESPONSE_WITHOUT_RESULT = auto()
    RESPONSE_FOR_OTHER_ADDRESS = auto()
    RESPONSE_REPEATS_ID = auto()
    STATUS_AMBIGUOUS = auto()  # status
    WORKER_LOST = auto()

    # The provider's answer. `text` is the provider's sentence, shortened and cleaned.
    PROVIDER_ERROR = auto()  # text, error_code
    CALL_REFUSED_FOR_ONE = auto()  # text, error_code
    INACTIVE_RECIPIENT = auto()
    MAINTENANCE = auto()
    TOO_FAST = auto()
    CALL_TOO_LARGE = auto()  # status
    TOKEN_REFUSED = auto()
    BLOCKED_BEFORE_PROVIDER = auto()
    MEDIA_TYPE_REFUSED = auto()
    NOT_THE_API = auto()  # status

    # The result of a look-up or of another query. `subject` is a constant of
    # provider/provider_protocol.py.
    QUERY_STATUS = auto()  # subject, status
    QUERY_UNREADABLE = auto()  # subject
    QUERY_INCOMPLETE = auto()  # subject
    NO_ROOM_FOR_LIST = auto()  # error
    BROKE_OFF = auto()
    OLD_DATA_KEPT = auto()  # rules, the names that `prune` prints
    LOOKUP_LAGS = auto()
    NO_LATER_MAIL = auto()  # for_s
    CHECK_MAIL_HIDDEN = auto()  # for_s
    NOT_FOUND = auto()
    NOT_FOUND_YET = auto()
    NOT_FOUND_HELD = auto()
    NOT_FOUND_UNPROVED = auto()
    NOT_FOUND_RESENT = auto()
    NOT_REPORTED_YET = auto()
    REPEATED_WITH_KEY = auto()
    CANNOT_BE_ASKED = auto()
    PROVIDER_HAS_FORGOTTEN = auto()
    ASKED_AGAIN = auto()
    RESENT_BY_OPERATOR = auto()
    MARKED_UNSETTLED = auto()

    # Why a delivery was not sent.
    LEFT = auto()
    LEFT_TOPIC = auto()
    NOT_HELD_ANY_MORE = auto()
    ON_SUPPRESSION_LIST = auto()
    EDITION_CANCELLED = auto()
    EDITION_CALLED_BACK = auto()
    TRIES_USED_UP = auto()  # tries, last (a Reason)
    PARKED = auto()  # crashes
    ERASED = auto()
    NEVER_CONFIRMED = auto()

    # Why an edition does not run.
    CALLED_BACK = auto()
    CALLED_BACK_BEFORE_ITS_TIME = auto()
    RESTORED = auto()  # issue
    SENT_BEFORE_RESTORE = auto()
    ACCEPTED_TWICE = auto()
    BOUNCE_RATE = auto()  # count, left, percent, limit
    COMPLAINT_RATE = auto()  # count, left, percent, limit
    APPROVAL_OUTDATED = auto()
    STARTED_LATE = auto()  # scheduled_for, local, zone, started_at; times in ISO 8601

    # Why an alarm was raised, besides the rates above.
    SECOND_COPY = auto()  # recipient, message_ids
    DELIVERY_MARKED_UNSETTLED = auto()  # recipient
    NOT_AT_PROVIDER = auto()  # recipient
    EVENT_FOR_OTHER_ADDRESS = auto()  # recipient
    # A batch that waits because its worker crashed has this reason too. If the batch is halved,
    # both halves keep the reason.
    BATCH_CRASHED = auto()

    # Current problems of a worker. Health checks are public, so these parameters hold no address,
    # no path and no secret. WORKER_PROBLEMS below lists these codes.
    TWO_UNSUBSCRIBE_LINKS = auto()  # stream, handling
    NO_UNSUBSCRIBE_LINK = auto()  # stream, handling
    BOOT_ID_HIDDEN = auto()
    UNSENT_CALLS_NOT_LISTED = auto()  # error
    DATABASE_IDENTITY_HIDDEN = auto()  # fields

    # `for_s` is the age of the fault in seconds; absent if unknown.
    DISK_FULL = auto()  # sqlstate, for_s
    READ_ONLY = auto()  # sqlstate, for_s
    NO_PERMISSION = auto()  # sqlstate, for_s
    WRONG_ENCODING = auto()  # sqlstate, for_s
    DATABASE_UNREACHABLE = auto()  # for_s
    WRITES_FAIL = auto()  # sqlstate, for_s

    # A text that is not a stored reason, such as one written by hand.
    OTHER = auto()  # text


# Faults of the database: writes fail again and again.
WRITE_FAULTS = (
    ReasonCode.DISK_FULL,
    ReasonCode.READ_ONLY,
    ReasonCode.NO_PERMISSION,
    ReasonCode.WRONG_ENCODING,
    ReasonCode.DATABASE_UNREACHABLE,
    ReasonCode.WRITES_FAIL,
)
WORKER_PROBLEMS = (
    ReasonCode.TWO_UNSUBSCRIBE_LINKS,
    ReasonCode.NO_UNSUBSCRIBE_LINK,
    ReasonCode.BOOT_ID_HIDDEN,
    ReasonCode.UNSENT_CALLS_NOT_LISTED,
    ReasonCode.DATABASE_IDENTITY_HIDDEN,
    *WRITE_FAULTS,
)


class Remedy(StrEnum):
    """What an operator or author must do before an edition can continue."""

    TOKEN = auto()
    ENABLE_API = auto()
    CONFIRM_SENDER = auto()
    CONFIRM_SIGNATURE = auto()
    PLAN_AND_CREDITS = auto()
    WAIT_FOR_APPROVAL = auto()
    ASK_PROVIDER = auto()
    TOKEN_AND_SERVER = auto()
    STREAM_NAMES = auto()
    STREAM_THAT_SENDS = auto()
    ALLOWED_IPS = auto()
    SIGNATURES_AND_DOMAINS = auto()
    SERVER_SETTINGS = auto()
    STREAM_SETTINGS = auto()
    FROM_AND_REPLY_TO = auto()
    CORRECT_ISSUE = auto()
    SHORTEN_ISSUE = auto()
    NETWORK = auto()
    BASE_URL = auto()
    READ_REPLY = auto()
    MAIL_LOGIN = auto()
    MAIL_SETTINGS = auto()
    HOMING_FAULT = auto()
    LOOK_UP_CODE = auto()


@dataclass(frozen=True, slots=True)
class Reason:
    """A code and the parameters of its sentence.

    A code that a newer version of Homing wrote is kept.
    """

    code: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, code: ReasonCode, **params: Any) -> Reason:
        """Return the reason with these parameters."""
        return cls(code, params)

    def with_params(self, **params: Any) -> Reason:
        """Return the same reason with more parameters."""
        return Reason(self.code, {**self.params, **params})

    @classmethod
    def loads(cls, text: str | None) -> Reason | None:
        """Read the reason from a column; None if the column is null or empty."""
        if not text:
            return None
        try:
            found = json.loads(text, object_hook=lambda value: cls(str(value.pop("code")), value))
        except (ValueError, KeyError):
            found = None
        return found if isinstance(found, cls) else cls.of(ReasonCode.OTHER, text=text)

    @classmethod
    def loads_all(cls, text: str) -> tuple[Reason, ...]:
        """Read the reasons of a column that holds a list of them."""
        return tuple(filter(None, (cls.loads(json.dumps(one)) for one in json.loads(text))))

    def dumps(self) -> str:
        """Return the text that a column stores for the reason."""
        return json.dumps(
            self,
            default=lambda reason: {"code": reason.code, **reason.params},
            ensure_ascii=False,
            separators=(",", ":"),
        )

    def __str__(self) -> str:
        """Write the reason for log lines, where the provider's “quoted” text is redacted."""
        shown = {
            name: f"“{value}”" if name == "text" else value for name, value in self.params.items()
        }
        return " ".join([self.code, *(f"{name}={value}" for name, value in shown.items())])


def dumps(reason: Reason | None) -> str:
    """Return the text that a column stores for a reason; empty for None."""
    return reason.dumps() if reason else ""


def dumps_all(reasons: Iterable[Reason]) -> str:
    """Return the text that a column stores for a list of reasons."""
    return f"[{','.join(reason.dumps() for reason in reasons)}]"
