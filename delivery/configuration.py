"""The operator's settings of delivery, as values: timing, retries, the Postmark client."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from delivery.postmark.client import Postmark
from delivery.rules import retry_or_settle


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things may take, in seconds, and the ceiling on messages per second, if any."""

    deadline_s: float
    lease_s: float
    rate_per_s: float | None

    @classmethod
    def from_settings(cls) -> Timing:
        """The operator's timing."""
        return cls(
            deadline_s=settings.DELIVERY_HTTP_DEADLINE_S,
            lease_s=settings.DELIVERY_LEASE_S,
            rate_per_s=settings.DELIVERY_RATE_PER_S,
        )


def policy_from_settings() -> retry_or_settle.Policy:
    """The operator's policy for retries and look-ups."""
    return retry_or_settle.Policy(
        retry_base_s=settings.DELIVERY_RETRY_BASE_S,
        retry_cap_s=settings.DELIVERY_RETRY_CAP_S,
        max_tries=settings.DELIVERY_MAX_ATTEMPTS,
        lookup_after_s=settings.DELIVERY_LOOKUP_AFTER_S,
        resend_when_absent=settings.DELIVERY_UNKNOWN_POLICY == "resend",
    )


def postmark_from_settings() -> Postmark:
    """A client for the configured Postmark server."""
    return Postmark(
        settings.POSTMARK_BASE_URL,
        settings.POSTMARK_SERVER_TOKEN,
        deadline_s=settings.DELIVERY_HTTP_DEADLINE_S,
    )
