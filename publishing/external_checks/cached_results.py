"""What was found outside is kept for a while, so that pages need not wait for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from django.db import connection
from django.db.models.functions import Now
from psycopg.types.json import Jsonb

from delivery.retention.batched_delete import OldRows
from publishing.external_checks.domain_records import DomainRecords
from publishing.external_checks.link_result import LinkAnswer
from publishing.models import ExternalCheck

FRESH_FOR = timedelta(minutes=10)
_KEPT_FOR = timedelta(days=1)
DOMAIN, LINK = ExternalCheck.Kind.DOMAIN.value, ExternalCheck.Kind.LINK.value

# In one order, so that two who look at the same links at once cannot block each other.
_KEEP = """
    INSERT INTO external_check (kind, subject, found, looked_at)
    SELECT %s, subject, found, clock_timestamp()
      FROM unnest(%s::text[], %s::jsonb[]) AS look (subject, found) ORDER BY subject
    ON CONFLICT ON CONSTRAINT one_external_check_per_subject
    DO UPDATE SET found = EXCLUDED.found, looked_at = EXCLUDED.looked_at
"""


@dataclass(frozen=True, slots=True)
class Looked:
    """What is known at present, and since when; None or empty where nobody looked lately."""

    domain: DomainRecords | None
    domain_at: datetime | None
    links: Mapping[str, LinkAnswer]
    links_at: datetime | None

    def has_answer_of(self, address: str) -> bool:
        """Whether it is known what there is at an address."""
        answer = self.links.get(address)
        return answer is not None and (answer.is_well or answer.is_dead)


def keep_domain(found: DomainRecords) -> None:
    """Keep what the name servers said, in place of what they said before."""
    _keep(DOMAIN, {found.domain: found.as_json()})


def keep_links(found: Mapping[str, LinkAnswer]) -> None:
    """Keep what the links answered, in place of what they answered before."""
    _keep(LINK, {address: answer.as_json() for address, answer in found.items()})


def fresh(domain: str, links: Sequence[str]) -> Looked:
    """What was found lately about this domain and these links."""
    records = _fresh(DOMAIN, [domain])
    answers = _fresh(LINK, list(links))
    kept, at = records.get(domain, (None, None))
    return Looked(
        DomainRecords.from_json(kept) if kept else None,
        at,
        {address: LinkAnswer.from_json(found) for address, (found, _) in answers.items()},
        min((at for _, at in answers.values()), default=None),
    )


def old_looks() -> OldRows:
    """What was found so long ago that nobody is shown it any more."""
    days = _KEPT_FOR.total_seconds() / 86400
    return OldRows("external_check", ["id"], "looked_at", days, in_order=False)


def _keep(kind: str, found: Mapping[str, dict[str, Any]]) -> None:
    ExternalCheck.objects.filter(looked_at__lt=cast("Any", Now()) - _KEPT_FOR).delete()
    if found:
        with connection.cursor() as cursor:
            cursor.execute(_KEEP, [kind, list(found), [Jsonb(look) for look in found.values()]])


def _fresh(kind: str, subjects: list[str]) -> dict[str, tuple[dict[str, Any], datetime]]:
    looks = ExternalCheck.objects.filter(
        kind=kind, subject__in=subjects, looked_at__gt=cast("Any", Now()) - FRESH_FOR
    )
    return {look.subject: (look.found, look.looked_at) for look in looks}
