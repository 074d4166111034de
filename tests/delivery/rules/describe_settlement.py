"""Write a settlement in words, so that tables of decisions are readable."""

from collections.abc import Sequence

from delivery.rules.after_call_or_lookup import Policy
from delivery.rules.outcomes import Failed, Settlement

POLICY = Policy(
    retry_base_s=5,
    retry_cap_s=900,
    max_tries=10,
    lookup_after_s=(60.0, 300.0, 900.0),
    resend_when_absent=True,
)
HOLDING = Policy(5, 900, 10, (60.0, 300.0, 900.0), resend_when_absent=False)


def in_words(settlement: Settlement, recipients: Sequence[int]) -> str:
    """Return words such as `sent, as it was: try again in 2.5 s, a try is used up`.

    The words begin with the outcome of each recipient, in order; the next step follows.
    """
    outcomes = ", ".join(_outcome(settlement, recipient) for recipient in recipients)
    words = [settlement.next.value]
    if settlement.lookup_after_s and settlement.delay_s:
        words[0] += f" not before {settlement.delay_s:g} s,"
    elif settlement.delay_s:
        words[0] += f" in {settlement.delay_s:g} s"
    if settlement.lookup_after_s:
        words[0] += f" {settlement.lookup_after_s:g} s after it became unknown"
    if settlement.counts_as_try:
        words.append("a try is used up")
    if settlement.new_deferrals:
        words.append(f"deferral {settlement.new_deferrals}")
    if settlement.confirmed_absent:
        words.append("said absent")
    if settlement.duplicates:
        words.append(f"{sum(map(len, settlement.duplicates.values()))} on top")
    if settlement.stop_edition:
        words.append("the edition stops")
    return f"{outcomes}: {', '.join(words)}"


def _outcome(settlement: Settlement, recipient: int) -> str:
    outcome = settlement.outcomes.get(recipient)
    if outcome is None:
        return "as it was"
    if isinstance(outcome, Failed):
        return "refused" if outcome.refused else "missed"
    return type(outcome).__name__.lower()
