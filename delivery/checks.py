"""System checks of delivery: settings that contradict each other."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Advice

from delivery.postmark.client import Postmark


@register("homing")
def check_streams_differ(**kwargs: Any) -> Iterable[CheckMessage]:
    """Postmark's rules forbid newsletters and confirmations on one stream."""
    if settings.POSTMARK_BROADCAST_STREAM == settings.POSTMARK_TRANSACTIONAL_STREAM:
        yield Error(
            "POSTMARK_BROADCAST_STREAM and POSTMARK_TRANSACTIONAL_STREAM are both "
            f"{settings.POSTMARK_BROADCAST_STREAM!r}; two streams are expected.",
            hint="Newsletters go over a broadcast stream, confirmations over another.",
            id="delivery.E001",
        )


@register("homing")
def check_token_is_encrypted(**kwargs: Any) -> Iterable[CheckMessage]:
    """Plain http to another machine shows the server token to the network."""
    url = urlsplit(settings.POSTMARK_BASE_URL)
    local = url.hostname in {"127.0.0.1", "localhost", "::1"}
    if url.scheme == "http" and not local and not settings.DEBUG:
        yield Advice(
            f"POSTMARK_BASE_URL is {settings.POSTMARK_BASE_URL!r}: the token travels unencrypted.",
            hint="Use an https URL.",
            id="delivery.W001",
        )


@register("homing")
def check_webhook_credentials(**kwargs: Any) -> Iterable[CheckMessage]:
    """With one of the two, every event is refused."""
    names = ("POSTMARK_WEBHOOK_USER", "POSTMARK_WEBHOOK_PASSWORD")
    missing = [name for name in names if not getattr(settings, name)]
    if len(missing) == 1:
        (there,) = set(names) - set(missing)
        yield Advice(
            f"{there} is set and {missing[0]} is not: every event of a webhook is refused.",
            hint="Set both, to what the address of Postmark's webhooks has, or neither.",
            id="delivery.W003",
        )


@register("homing")
def check_last_lookup_is_after_deadline(**kwargs: Any) -> Iterable[CheckMessage]:
    """A call may be accepted until its deadline, so an earlier look-up proves nothing."""
    last = settings.DELIVERY_LOOKUP_AFTER_S[-1]
    if last < settings.DELIVERY_HTTP_DEADLINE_S:
        yield Advice(
            f"The last of DELIVERY_LOOKUP_AFTER_S is {last:g} s, before a call's deadline of "
            f"{settings.DELIVERY_HTTP_DEADLINE_S:g} s (DELIVERY_HTTP_DEADLINE_S): a copy that "
            "Postmark accepts in between would go twice.",
            hint="Set the last look-up minutes later than the deadline.",
            id="delivery.W002",
        )


def check_unsubscribe_handling(postmark: Postmark) -> str:
    """A warning if the stream handles unsubscribes otherwise than we do; empty if Postmark gives no
    answer. Source: Postmark's API documentation, “Message streams”."""
    fitting, wanted, danger = {
        "own": ({"custom", "none"}, "Custom", "two unsubscribe links"),
        "postmark": ({"postmark"}, "Postmark", "no unsubscribe link"),
    }[settings.UNSUBSCRIBE_HANDLING]
    stream = settings.POSTMARK_BROADCAST_STREAM
    handling = postmark.unsubscribe_handling(stream)
    if handling is None or handling.lower() in fitting:
        return ""
    return (
        f"UNSUBSCRIBE_HANDLING is {settings.UNSUBSCRIBE_HANDLING!r}, but Postmark's stream "
        f"{stream!r} says {handling!r}; expected {wanted!r}. Change one of the two, or readers may "
        f"find {danger} in their mail."
    )
