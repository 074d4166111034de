"""Make the retry policy and the Postmark client from delivery's settings."""

from django.conf import settings

from delivery.postmark.client import Postmark
from delivery.rules import after_call_or_lookup


def policy_from_settings() -> after_call_or_lookup.Policy:
    """Read the operator's policy for retries and look-ups."""
    return after_call_or_lookup.Policy(
        retry_base_s=settings.DELIVERY_RETRY_BASE_S,
        retry_cap_s=settings.DELIVERY_RETRY_CAP_S,
        max_tries=settings.DELIVERY_MAX_ATTEMPTS,
        lookup_after_s=settings.DELIVERY_LOOKUP_AFTER_S,
        resend_when_absent=settings.DELIVERY_UNKNOWN_POLICY == "resend",
    )


def postmark_from_settings() -> Postmark:
    """Make a client for the configured Postmark server."""
    return Postmark(
        settings.POSTMARK_BASE_URL,
        settings.POSTMARK_SERVER_TOKEN,
        deadline_s=settings.DELIVERY_HTTP_DEADLINE_S,
    )
