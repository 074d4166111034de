"""
When bounces or complaints of an edition are so many that it should not go on by itself. Pure.

A list that was bought, or is old, shows itself in its first thousand copies; every further one
costs the sender's name at mailbox providers. Mailbox providers and Postmark draw their lines at
about these rates (Postmark: bounces under 10 %; Gmail and Yahoo: complaints under 0.3 %, better
0.1 %).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """
    A rate counts from so many per cent of the copies, and from so many in number: three bounces
    of the first twenty copies say nothing yet.
    """

    bounces_percent: float
    bounces_least: int
    complaints_percent: float
    complaints_least: int


@dataclass(frozen=True, slots=True)
class Counts:
    """
    Of one edition, since it was last resumed: copies that left, and what came back. `waiting` are
    the copies that a pause would hold back.
    """

    left: int
    bounced: int
    complained: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Surge:
    """Too many: of what, and the sentence that tells a person."""

    what: str
    sentence: str


def find_exceeded_rate(counts: Counts, limits: Limits) -> Surge | None:
    """Whether the edition should be held back, or None. Complaints weigh more and come first."""
    if not counts.waiting or not counts.left:
        return None
    for what, done, number, percent, least in (
        (
            "complaints",
            "called spam",
            counts.complained,
            limits.complaints_percent,
            limits.complaints_least,
        ),
        ("bounces", "sent back", counts.bounced, limits.bounces_percent, limits.bounces_least),
    ):
        share = 100 * number / counts.left
        if number >= least and share >= percent:
            return Surge(
                what,
                f"Homing paused this by itself: {number:,} of {counts.left:,} copies were {done} "
                f"({_percent(share)} %; the limit is {percent:g} %). Look at where these readers "
                "came from, then resume or cancel.",
            )
    return None


def _percent(share: float) -> str:
    return f"{share:.1f}" if share >= 1 else f"{share:.2f}"
