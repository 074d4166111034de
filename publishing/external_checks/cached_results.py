"""Cache the results of external checks, so that pages need not wait for them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from django.db.models.functions import Now

from delivery.retention.batched_delete import OldRows
from publishing.external_checks.domain_records import DomainRecords
from publishing.external_checks.open_link import LinkError, LinkResult
from publishing.models import ExternalCheck

FRESH_FOR = timedelta(minutes=10)
_SAVED_FOR = timedelta(days=1)
DOMAIN, LINK = ExternalCheck.Kind.DOMAIN.value, ExternalCheck.Kind.LINK.value


@dataclass(frozen=True, slots=True)
class CachedResults:
    """Fresh results; `domain_at` and `links_at` are the times of the oldest results.

    `domain` is None without a fresh result. `links` leaves out links without a fresh result.
    """

    domain: DomainRecords | None
    domain_at: datetime | None
    links: Mapping[str, LinkResult]
    links_at: datetime | None


def load_fresh(domain: str, links: Sequence[str]) -> CachedResults:
    """Load the fresh results of this domain and these links."""
    records = _load(DOMAIN, [domain])
    answers = _load(LINK, list(links))
    kept, at = records.get(domain, (None, None))
    return CachedResults(
        DomainRecords.from_json(kept) if kept else None,
        at,
        {
            url: LinkResult(found["status"], LinkError(found["error"]), found["url"])
            for url, (found, _) in answers.items()
        },
        min((at for _, at in answers.values()), default=None),
    )


def expired_results() -> OldRows:
    """Return the results that are too old to be shown."""
    days = _SAVED_FOR.total_seconds() / 86400
    return OldRows("external_check", ["id"], "looked_at", days, in_order=False)


def save(kind: str, found: Mapping[str, DomainRecords | LinkResult]) -> None:
    """Save the results of one kind of check, in place of earlier results."""
    ExternalCheck.objects.filter(looked_at__lt=cast("Any", Now()) - _SAVED_FOR).delete()
    ExternalCheck.objects.bulk_create(
        # Sort the rows, so that two checks of the same links cannot deadlock.
        [
            ExternalCheck(kind=kind, subject=subject, found=asdict(found[subject]))
            for subject in sorted(found)
        ],
        update_conflicts=True,
        unique_fields=["kind", "subject"],
        update_fields=["found", "looked_at"],
    )


def _load(kind: str, subjects: list[str]) -> dict[str, tuple[dict[str, Any], datetime]]:
    looks = ExternalCheck.objects.filter(
        kind=kind, subject__in=subjects, looked_at__gt=cast("Any", Now()) - FRESH_FOR
    )
    return {look.subject: (look.found, look.looked_at) for look in looks}
