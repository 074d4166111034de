"""Make a reason with any sentence, for tests that do not check the sentence."""

from delivery.rules.reason import Reason, ReasonCode


def because(text: str = "It is so.") -> Reason:
    """Return a reason with this sentence."""
    return Reason.of(ReasonCode.OTHER, text=text)
