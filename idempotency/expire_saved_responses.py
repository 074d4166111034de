"""Delete saved responses that are older than IDEMPOTENCY_TTL_DAYS."""

from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from idempotency.claim import LONGEST_SILENCE, allow_silence
from idempotency.models import PostedForm

DEFAULT_TTL_DAYS = 30
ROWS_AT_ONCE = 1_000


def expire_saved_responses(*, at_most: int = ROWS_AT_ONCE) -> int:
    """Delete up to `at_most` expired responses and return how many were deleted.

    Each call is a short transaction of its own. The function skips rows that another run is
    deleting. Call the function until it returns 0.
    """
    with transaction.atomic(durable=True):
        # Limit the pause between two statements, so that a process that freezes here does not lock
        # its rows for long.
        allow_silence(LONGEST_SILENCE)
        with connection.cursor() as cursor:
            # Read along the index, even if the statistics are out of date.
            cursor.execute("SET LOCAL enable_seqscan = off")
        oldest = _expired().order_by("created_at", "user", "idempotency_key")
        keys = list(
            oldest.select_for_update(skip_locked=True).values_list("user", "idempotency_key")[
                :at_most
            ]
        )
        return PostedForm.objects.filter(pk__in=keys).delete()[0]


def count_expired() -> int:
    """Count the responses that `expire_saved_responses` would delete."""
    return _expired().count()


def _expired() -> QuerySet[PostedForm]:
    # Compare with the database's clock, because the times of the rows come from that clock too.
    days = getattr(settings, "IDEMPOTENCY_TTL_DAYS", DEFAULT_TTL_DAYS)
    return PostedForm.objects.filter(created_at__lt=Now() - timedelta(days=days))
