"""Why a batch waits, a delivery failed or an edition stopped: a code and its parameters. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class ReasonCode(StrEnum):
    """Every reason there is. The comment names the parameters."""

    # A call that never reached the provider.
    NO_TIME_LEFT = "no_time_left"
    NO_CONNECTION = "no_connection"  # url, error
    DATABASE_AWAY = "database_away"

    # A call without a usable response.
    NO_RESPONSE_IN_TIME = "no_response_in_time"
    CONNECTION_BROKE = "connection_broke"  # error
    RESPONSE_TOO_LONG = "response_too_long"
    RESPONSE_UNREADABLE = "response_unreadable"
    RESPONSE_COUNT_WRONG = "response_count_wrong"  # answered, sent
    RESPONSE_WITHOUT_RESULT = "response_without_result"
    RESPONSE_FOR_OTHER_ADDRESS = "response_for_other_address"
    RESPONSE_REPEATS_ID = "response_repeats_id"
    STATUS_AMBIGUOUS = "status_ambiguous"  # status
    WORKER_LOST = "worker_lost"

    # What the provider said. `text` is its own sentence, bounded and cleaned.
    PROVIDER_ERROR = "provider_error"  # error_code, text; remedy where a person must act
    CALL_REFUSED_FOR_ONE = "call_refused_for_one"  # error_code, text
    INACTIVE_RECIPIENT = "inactive_recipient"
    MAINTENANCE = "maintenance"
    TOO_FAST = "too_fast"
    CALL_TOO_LARGE = "call_too_large"  # status; remedy
    TOKEN_REFUSED = "token_refused"  # noqa: S105 -- no secret; remedy
    BLOCKED_BEFORE_PROVIDER = "blocked_before_provider"  # remedy
    MEDIA_TYPE_REFUSED = "media_type_refused"  # remedy
    NOT_THE_API = "not_the_api"  # status; remedy

    # What a look-up or another question to the provider led to.
    QUERY_STATUS = "query_status"  # subject, status
    QUERY_UNREADABLE = "query_unreadable"  # subject
    QUERY_INCOMPLETE = "query_incomplete"  # subject
    NO_ROOM_FOR_LIST = "no_room_for_list"  # error
    BROKE_OFF = "broke_off"
    LOOKUP_LAGS = "lookup_lags"
    NOT_FOUND = "not_found"
    NOT_FOUND_YET = "not_found_yet"
    NOT_FOUND_HELD = "not_found_held"
    NOT_FOUND_RESENT = "not_found_resent"
    PROVIDER_HAS_FORGOTTEN = "provider_has_forgotten"
    ASKED_AGAIN = "asked_again"
    RESENT_BY_OPERATOR = "resent_by_operator"
    MARKED_UNSETTLED = "marked_unsettled"

    # Why a delivery was not sent.
    LEFT = "left"
    NOT_HELD_ANY_MORE = "not_held_any_more"
    ON_SUPPRESSION_LIST = "on_suppression_list"
    EDITION_CANCELLED = "edition_cancelled"
    EDITION_CALLED_BACK = "edition_called_back"
    TRIES_USED_UP = "tries_used_up"  # tries, last (a Reason)
    PARKED = "parked"  # crashes
    ERASED = "erased"
    NEVER_CONFIRMED = "never_confirmed"

    # Why an edition does not run.
    CALLED_BACK = "called_back"
    CALLED_BACK_BEFORE_ITS_TIME = "called_back_before_its_time"
    RESTORED = "restored"  # issue
    SENT_BEFORE_RESTORE = "sent_before_restore"
    ACCEPTED_TWICE = "accepted_twice"
    BOUNCE_RATE = "bounce_rate"  # count, left, percent, limit
    COMPLAINT_RATE = "complaint_rate"  # count, left, percent, limit
    STARTED_LATE = "started_late"  # scheduled_for, local, zone, started_at; times in ISO 8601

    # What an alarm is about, besides the rates above.
    SECOND_COPY = "second_copy"  # recipient, message_ids
    DELIVERY_MARKED_UNSETTLED = "delivery_marked_unsettled"  # recipient
    NOT_AT_PROVIDER = "not_at_provider"  # recipient

    # What an edition waits for. Derived from its counts, never stored.
    READERS_MISSED = "readers_missed"  # missed, unknown
    UNKNOWN_NEEDS_DECISION = "unknown_needs_decision"  # unknown
    PAUSED = "paused"  # queued, being_sent, unknown, is_looking_up, is_in_call, waiting
    SCHEDULED = "scheduled"  # moment, goes_to
    DUE = "due"  # moment, goes_to
    DUE_NO_WORKER = "due_no_worker"  # moment, heard_at
    HELD = "held"  # until
    ENDED_IN_CALL = "ended_in_call"  # waiting
    ENDED_UNPROVED = "ended_unproved"  # unknown
    ENDED_LOOKING_UP = "ended_looking_up"  # unknown, next_lookup_at
    NO_WORKER = "no_worker"  # heard_at
    LOOKING_UP = "looking_up"  # unknown, waiting, next_lookup_at
    RETRY = "retry"  # last (a Reason or None), at
    SLOWED = "slowed"  # per_s
    SENDING = "sending"

    # A text that is no value of this kind, such as one that was written by hand.
    OTHER = "other"  # text


class Remedy(StrEnum):
    """What a person must do before an edition can go on."""

    TOKEN = "token"  # noqa: S105 -- no secret
    ENABLE_API = "enable_api"
    CONFIRM_SENDER = "confirm_sender"
    CONFIRM_SIGNATURE = "confirm_signature"
    PLAN_AND_CREDITS = "plan_and_credits"
    WAIT_FOR_APPROVAL = "wait_for_approval"
    ASK_PROVIDER = "ask_provider"
    TOKEN_AND_SERVER = "token_and_server"  # noqa: S105 -- no secret
    STREAM_NAMES = "stream_names"
    STREAM_THAT_SENDS = "stream_that_sends"
    ALLOWED_IPS = "allowed_ips"
    SIGNATURES_AND_DOMAINS = "signatures_and_domains"
    SERVER_SETTINGS = "server_settings"
    STREAM_SETTINGS = "stream_settings"
    FROM_AND_REPLY_TO = "from_and_reply_to"
    CORRECT_ISSUE = "correct_issue"
    SHORTEN_ISSUE = "shorten_issue"
    NETWORK = "network"
    BASE_URL = "base_url"
    HOMING_FAULT = "homing_fault"
    LOOK_UP_CODE = "look_up_code"


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
            return _from_json(json.loads(text))
        except (ValueError, TypeError, KeyError):
            return cls.of(ReasonCode.OTHER, text=text)

    def dumps(self) -> str:
        """The reason as a column holds it."""
        return json.dumps(_to_json(self), ensure_ascii=False, separators=(",", ":"))

    def __str__(self) -> str:
        """For log lines, where “quoted” text of the provider is redacted."""
        shown = {
            name: f"“{value}”" if name == "text" else value for name, value in self.params.items()
        }
        return " ".join([self.code, *(f"{name}={value}" for name, value in shown.items())])


def dumps(reason: Reason | None) -> str:
    """The reason as a column holds it; empty for None."""
    return reason.dumps() if reason else ""


def _to_json(value: Any) -> Any:
    if isinstance(value, Reason):
        return {"code": value.code} | {name: _to_json(one) for name, one in value.params.items()}
    return value


def _from_json(value: dict[str, Any]) -> Reason:
    params = dict(value)
    code = str(params.pop("code"))
    return Reason(
        code,
        {name: _from_json(one) if isinstance(one, dict) else one for name, one in params.items()},
    )
