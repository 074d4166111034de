"""System checks of delivery: settings that contradict one another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Advice


@register("homing")
def streams_are_apart(**kwargs: Any) -> Iterable[CheckMessage]:
    """Postmark's rules forbid newsletters and confirmations on one stream."""
    if settings.POSTMARK_BROADCAST_STREAM == settings.POSTMARK_TRANSACTIONAL_STREAM:
        yield Error(
            "POSTMARK_BROADCAST_STREAM and POSTMARK_TRANSACTIONAL_STREAM are both "
            f"{settings.POSTMARK_BROADCAST_STREAM!r}; two streams are expected.",
            hint="Newsletters go over a broadcast stream, confirmations over another.",
            id="delivery.E001",
        )


@register("homing")
def token_does_not_travel_in_the_clear(**kwargs: Any) -> Iterable[CheckMessage]:
    """Plain http to another machine shows the server token to the network."""
    address = urlsplit(settings.POSTMARK_BASE_URL)
    local = address.hostname in {"127.0.0.1", "localhost", "::1"}
    if address.scheme == "http" and not local and not settings.DEBUG:
        yield Advice(
            f"POSTMARK_BASE_URL is {settings.POSTMARK_BASE_URL!r}: the token travels unencrypted.",
            hint="Use an https address.",
            id="delivery.W001",
        )


@register("homing")
def webhooks_have_user_and_password(**kwargs: Any) -> Iterable[CheckMessage]:
    """With one of the two every event is refused, and what it tells is learnt hours later."""
    names = ("POSTMARK_WEBHOOK_USER", "POSTMARK_WEBHOOK_PASSWORD")
    missing = [name for name in names if not getattr(settings, name)]
    if len(missing) == 1:
        (there,) = set(names) - set(missing)
        yield Advice(
            f"{there} is set and {missing[0]} is not: every event of a webhook is refused.",
            hint="Set both, to what stands in the address of Postmark's webhooks, or neither.",
            id="delivery.W003",
        )


@register("homing")
def silence_is_not_believed_before_the_deadline(**kwargs: Any) -> Iterable[CheckMessage]:
    """
    A call that was cut off at once may still be accepted until its deadline: what a last look-up
    before that does not show may yet come (tests/small_model shows the second copy).
    """
    last = settings.DELIVERY_LOOKUP_AFTER_S[-1]
    if last < settings.DELIVERY_HTTP_DEADLINE_S:
        yield Advice(
            f"The last of DELIVERY_LOOKUP_AFTER_S is {last:g} s, before a call's deadline of "
            f"{settings.DELIVERY_HTTP_DEADLINE_S:g} s (DELIVERY_HTTP_DEADLINE_S): a copy that "
            "Postmark accepts in between would go twice.",
            hint="Have the last look-up come later than the deadline, by minutes.",
            id="delivery.W002",
        )
