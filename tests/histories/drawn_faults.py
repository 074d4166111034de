"""The sandbox's faults of calls and searches that a random history uses, by name."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

_TO_IS_WRONG = "Invalid 'To' address: 'reader'."
OF_A_CALL: Mapping[str, tuple[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "accepted, then closed": ("accept_then_close", {}),
        "accepted, then 500": ("accept_then_500", {}),
        "accepted, then cut short": ("accept_then_truncate", {}),
        "accepted, then garbled": ("accept_then_garble", {}),
        "accepted, one result too few": ("accept_then_wrong_length", {}),
        "the first accepted, then closed": ("accept_first_k_then_close", {"k": 1}),
        "accepted without a code": ("success_without_error_code", {}),
        "closed unread": ("close_before_reading", {}),
        "reset": ("reset", {}),
        "502": ("bad_gateway_502_html", {}),
        "429": ("refuse_429", {}),
        "429, later": ("refuse_429", {"retry_after": 120}),
        "maintenance": ("maintenance_503", {}),
        "401": ("unauthorized_401", {}),
        "403 from before the provider": ("forbidden_403_html", {}),
        "413": ("payload_too_large_413", {}),
        "no credits": ("whole_422", {"code": 405}),
        "the first is inactive": ("item_error", {"code": 406, "k": 1}),
        "the first is refused": ("item_error", {"code": 300, "k": 1, "text": _TO_IS_WRONG}),
        "the first has bad content": ("item_error", {"code": 300, "k": 1}),
        "the first meets an unknown code": ("item_error", {"code": 999, "k": 1}),
        "the first is refused for now": ("item_error", {"code": 429, "k": 1}),
        "the first meets an inner error": ("item_error", {"code": 101, "k": 1}),
    }
)
SEARCH_IS_DOWN: Mapping[str, tuple[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "503": ("search_503", {"calls": None}),
        "429": ("search_429", {"calls": None, "retry_after": 30}),
    }
)
# How long the search may lag, in seconds. Each lag ends before the last
# scheduled look-up.
SEARCH_LAGS_S = (60, 200, 700)


class LossPoint(StrEnum):
    """A point at which a worker may be lost. At these points no transaction is open."""

    CLAIMED = "after the claim, before its call is on record"
    STARTED = "after its call is on record, before the call"
    ANSWERED = "after the call, before settling it"
    ASKS = "after the claim of a look-up, before asking"
    ASKED = "after the look-up's answer, before settling it"
