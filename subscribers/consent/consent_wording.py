"""The words beside the buttons by which readers agree. Every earlier wording stays on record."""

SIGN_UP_BUTTON = "Subscribe"
SIGN_UP = (
    "We first ask you to confirm by mail. The letter comes only after that, and every letter has "
    "an unsubscribe link."
)
CONFIRM_BUTTON = "Yes, send me the letter"
CONFIRM = "Press the button and the next one will come."


def full_wording(newsletter_name: str, words: str, button: str) -> str:
    """The wording as the log of consent keeps it: whose letter, what was said, what was pressed."""
    return f"{newsletter_name}\n{words}\n[{button}]"
