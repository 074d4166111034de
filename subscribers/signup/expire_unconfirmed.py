"""Delete readers who were asked to confirm and did not confirm."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from delivery.interface import short_transaction
from delivery.retention.anonymise import anonymise_unconfirmed
from delivery.retention.batched_delete import MAX_LOCK_WAIT_S
from subscribers.models import Bounce, ConsentRecord, Subscriber

AT_ONCE = 1000


def _unconfirmed() -> QuerySet[Subscriber]:
    """Select pending readers with no request in the last `PENDING_EXPIRES_DAYS`."""
    since = Now() - timedelta(days=settings.PENDING_EXPIRES_DAYS)
    asked = ConsentRecord.objects.filter(subscriber=OuterRef("pk"), at__gte=since)
    return Subscriber.objects.filter(~Exists(asked), state=Subscriber.State.PENDING)


def _expired() -> QuerySet[Subscriber]:
    since = Now() - timedelta(days=settings.PENDING_EXPIRES_DAYS)
    return _unconfirmed().filter(created_at__lt=since)


def expire_pending(batch_size: int = AT_ONCE) -> int:
    """Delete readers who did not confirm in `PENDING_EXPIRES_DAYS`; return how many.

    One call deletes at most `batch_size` readers.
    """
    with short_transaction() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{MAX_LOCK_WAIT_S}s'")
        # Skip rows that are locked now; a later call deletes them.
        expired = _expired().order_by("id").select_for_update(skip_locked=True)
        found = list(expired.values_list("id", flat=True)[:batch_size])
        # Now that the rows are locked, check again: some readers may have signed up again just
        # before.
        deleted = dict(_unconfirmed().filter(pk__in=found).values_list("id", "email_key"))
        if not deleted:
            return 0
        Subscriber.objects.filter(pk__in=deleted).delete()
        Bounce.objects.filter(subscriber__in=deleted).delete()
        ConsentRecord.objects.filter(subscriber__in=deleted).delete()
        anonymise_unconfirmed(deleted)
    return len(deleted)


def count_expired() -> int:
    """Count the readers whom `expire_pending` would delete."""
    return _expired().count()
