"""Compares our way of handling unsubscribes with the stream's own setting at Postmark."""

from django.conf import settings

from delivery.postmark.client import Postmark

EXPECTED = {"own": {"custom", "none"}, "postmark": {"postmark"}}


def check_unsubscribe_handling(postmark: Postmark) -> str:
    """A warning if the stream handles unsubscribes otherwise than we do; empty if Postmark gives no
    answer. Source: Postmark's API documentation, “Message streams”."""
    stream = settings.POSTMARK_BROADCAST_STREAM
    told = postmark.unsubscribe_handling(stream)
    if told is None or told.lower() in EXPECTED[settings.UNSUBSCRIBE_HANDLING]:
        return ""
    wanted, danger = (
        ("Custom", "two unsubscribe links")
        if settings.UNSUBSCRIBE_HANDLING == "own"
        else ("Postmark", "no unsubscribe link")
    )
    return (
        f"UNSUBSCRIBE_HANDLING is {settings.UNSUBSCRIBE_HANDLING!r}, but Postmark's stream "
        f"{stream!r} says {told!r}; expected {wanted!r}. Change one of the two, or readers may "
        f"find {danger} in their mail."
    )
