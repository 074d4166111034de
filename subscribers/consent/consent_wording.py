"""
What a person sees beside the buttons by which they agree: the only place for these words.

The pages show them from here and the ledger keeps them, so that what is on record is what was on
the page. Change them freely: every wording of an earlier day stays on record.
"""

from __future__ import annotations

SIGN_UP_BUTTON = "Subscribe"
SIGN_UP = (
    "We first ask you to confirm by mail. The letter comes only after that, and every letter "
    "carries a link to leave."
)
CONFIRM_BUTTON = "Yes, send me the letter"
CONFIRM = "Press the button and the next one will come."


def as_shown(newsletter_name: str, words: str, button: str) -> str:
    """The wording as the ledger keeps it: whose letter, what was said, what was pressed."""
    return f"{newsletter_name}\n{words}\n[{button}]"
