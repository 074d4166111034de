"""Check the settings of Postmark, and compare its stream with them."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as Advice
from django.utils.translation import gettext as _

from delivery.postmark.client import Postmark
from delivery.rules.reason import Reason, ReasonCode


def find_problems() -> Iterator[CheckMessage]:
    """Yield a message for settings that contradict each other or are unsafe together."""
    # Postmark forbids newsletters and confirmations on one stream.
    if settings.BROADCAST_STREAM == settings.TRANSACTIONAL_STREAM:
        yield Error(
            _(
                "POSTMARK_BROADCAST_STREAM and POSTMARK_TRANSACTIONAL_STREAM are both “{stream}”. "
                "They must be two different streams."
            ).format(stream=settings.BROADCAST_STREAM),
            hint=_("Set a broadcast stream for newsletters and another stream for confirmations."),
            id="delivery.E001",
        )
    # Plain http would show the server token to the network.
    url = urlsplit(settings.POSTMARK_BASE_URL)
    local = url.hostname in {"127.0.0.1", "localhost", "::1"}
    if url.scheme == "http" and not local and not settings.DEBUG:
        yield Advice(
            _("POSTMARK_BASE_URL is “{url}”, so the token is sent unencrypted.").format(
                url=settings.POSTMARK_BASE_URL
            ),
            hint=_("Use an https URL."),
            id="delivery.W001",
        )
    # If only the user or only the password is set, every event would be refused.
    names = ("POSTMARK_WEBHOOK_USER", "POSTMARK_WEBHOOK_PASSWORD")
    missing = [name for name in names if not getattr(settings, name)]
    if len(missing) == 1:
        (there,) = set(names) - set(missing)
        yield Advice(
            _("{setting} is set and {other} is not, so every webhook event is refused.").format(
                setting=there, other=missing[0]
            ),
            hint=_("Set both to the values in the webhook address, or set neither."),
            id="delivery.W003",
        )


def find_unsubscribe_problem(postmark: Postmark) -> Reason | None:
    """Compare the stream's handling of unsubscribes with ours.

    Returns None if the two agree, or if Postmark gives no answer. See Postmark's API documentation,
    “Message streams”.
    """
    fitting, problem = {
        "own": ({"custom", "none"}, ReasonCode.TWO_UNSUBSCRIBE_LINKS),
        "postmark": ({"postmark"}, ReasonCode.NO_UNSUBSCRIBE_LINK),
    }[settings.UNSUBSCRIBE_HANDLING]
    stream = settings.BROADCAST_STREAM
    handling = postmark.unsubscribe_handling(stream)
    if handling is None or handling.lower() in fitting:
        return None
    return Reason.of(problem, stream=stream, handling=handling)
