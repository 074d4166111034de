"""Remove a reader's address and name from everything that delivery keeps.

Deliveries stay, because they are counted. A delivery that still waits is withdrawn when its call
starts.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import connection

from delivery.mail.mark_test_letter import TEST_ISSUE, TEST_RECIPIENT
from delivery.mail.transactional_mail_texts import ISSUE_BY_KIND
from delivery.models import Edition, ProviderEvent, ProviderSuppression, SuppressionChange
from delivery.reader_fields import FIELD_NAMES
from delivery.rules.reason import Reason, ReasonCode

ERASED = Reason.of(ReasonCode.ERASED).dumps()
NEVER_CONFIRMED = Reason.of(ReasonCode.NEVER_CONFIRMED).dumps()

_NO_VALUES = ", ".join([*(f"{name} = ''" for name in ("address", *FIELD_NAMES)), "fields = NULL"])
_HAS_VALUES = " OR ".join(
    [*(f"{name} <> ''" for name in ("address", *FIELD_NAMES)), "fields IS NOT NULL"]
)

# A reason contains the provider's own sentence, which may quote the address.
_BLANK = f"""
    UPDATE delivery SET {_NO_VALUES},
           reason = CASE WHEN strpos(lower(reason), address_key) > 0 THEN %s ELSE reason END
    FROM unnest(%s::bigint[], %s::text[]) AS gone (recipient, address_key)
    WHERE issue_id = ANY(%s) AND recipient_id = recipient AND ({_HAS_VALUES})
      AND (recipient <> {TEST_RECIPIENT} OR lower(address) = address_key)
"""  # noqa: S608 -- a constant


def anonymise_recipient(recipient: int, address_key: str) -> None:
    """Blank this reader's deliveries, in the caller's transaction.

    `address_key` is case-folded.
    """
    issues = Edition.objects.order_by().values_list("issue_id", flat=True).distinct()
    gone = {recipient: address_key, TEST_RECIPIENT: address_key}
    _blank(gone, [*issues, TEST_ISSUE], ERASED)


def anonymise_unconfirmed(
    gone: Mapping[int, str], issues: Iterable[UUID] = tuple(ISSUE_BY_KIND.values())
) -> None:
    """Blank the mail of readers who have copies of `issues` only.

    Also deletes the provider's events about these readers. Runs in the caller's transaction. `gone`
    maps the readers' ids to their case-folded addresses.
    """
    _blank(gone, issues, NEVER_CONFIRMED)
    _delete_events_about(gone.values())


def _blank(gone: Mapping[int, str], issues: Iterable[UUID], why: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_BLANK, [why, list(gone), list(gone.values()), list(issues)])


def delete_provider_data(address: str) -> None:
    """Delete provider data and pending changes about this address.

    Runs in the caller's transaction.
    """
    _delete_events_about([address])
    for model in (ProviderSuppression, SuppressionChange):
        model.objects.filter(address_key=address.lower()).delete()


def _delete_events_about(addresses: Iterable[str]) -> None:
    # Locked events are skipped, because the transaction that holds the lock applies the event and
    # deletes it.
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM provider_event WHERE id IN (
                SELECT id FROM provider_event WHERE address_key = ANY(%s) FOR UPDATE SKIP LOCKED)
            """,
            [[address.lower() for address in addresses]],
        )


def load_events_about(address: str) -> list[dict[str, Any]]:
    """Load the events about an address, in their received form, oldest first."""
    rows = ProviderEvent.objects.filter(address_key=address.lower()).order_by("id")
    return [
        row | {"body": bytes(row["body"]).decode(errors="replace")}
        for row in rows.values("received_at", "kind", "body")
    ]
