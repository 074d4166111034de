"""A reason of any words, for tests that do not look at them."""

from delivery.rules.reason import Reason, ReasonCode


def because(text: str = "It is so.") -> Reason:
    """The reason whose sentence this is."""
    return Reason.of(ReasonCode.OTHER, text=text)
