"""Faults of a call, a search and a worker in a random history."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

# The network holds the call until the history releases it, after the caller has given up.
HELD = "held"
# Long enough for one small request on one machine. After this time the caller of a held call gives
# up.
GIVES_UP_AFTER_S = 0.08

_TO_IS_WRONG = "Invalid 'To' address: 'reader'."

# By name: the sandbox's fault that hits the next call, and its settings.
OF_A_CALL: Mapping[str, tuple[str, Mapping[str, Any]] | None] = MappingProxyType(
    {
        "none": None,
        HELD: ("hold", {"moment": "before_accept"}),
        "accepted, then closed": ("accept_then_close", {}),
        "accepted, then stalled": ("accept_then_stall", {"seconds": 1}),
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

# Seconds by which the search may lag: within the schedule of look-ups, and beyond it.
SHORT_LAGS_S = (60, 200, 700)
LONG_LAG_S = 5000

OF_THE_SEARCH: Mapping[str, tuple[str, Mapping[str, Any]]] = MappingProxyType(
    {
        **{f"{lag} s late": ("search_delay", {"seconds": lag}) for lag in SHORT_LAGS_S},
        "hours late": ("search_delay", {"seconds": LONG_LAG_S}),
        "503": ("search_503", {"calls": None}),
        "429": ("search_429", {"calls": None, "retry_after": 30}),
    }
)


class FreezePoint(StrEnum):
    """Point at which a worker may be lost or freeze. No transaction is open."""

    CLAIMED = "after the claim, before its call is on record"
    STARTED = "after its call is on record, before the call"
    ANSWERED = "after the call, before settling it"
    ASKS = "after the claim of a look-up, before asking"
    TOLD = "after the look-up's answer, before settling it"
