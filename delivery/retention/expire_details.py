"""Delete old attempts, applied events, and settled test letters and invitations."""

from collections.abc import Iterator

from django.conf import settings

from delivery.mail.mark_test_letter import TEST_ISSUE, TEST_RECIPIENT
from delivery.mail.transactional_mail_texts import INVITATION_ISSUE
from delivery.models import Delivery, Edition, Evidence
from delivery.models.attempt import NO_BATCH
from delivery.provider.from_settings import capabilities
from delivery.retention.batched_delete import OldRows, short_delete

# A margin for differing clocks, days that begin at another hour, and operators on holiday.
MARGIN_DAYS = 7
# This many of the newest newsletters keep all attempts. The check sheet estimates the sending time
# from these attempts.
NEWEST_KEPT = 5

# A newsletter ends as a whole, but each batch of transactional mail ends separately. The last ended
# attempt of an edition stays, because it shows when the edition ended. An attempt to send a check
# mail does not show the end of an edition.
_CALL_MAY_GO = f"""
    EXISTS (SELECT FROM attempt AS later
            WHERE later.edition_id = attempt.edition_id AND later.batch_id <> {NO_BATCH}
              AND later.finished_at > coalesce(attempt.finished_at, '-infinity'))
    AND NOT EXISTS (
        SELECT FROM batch JOIN edition ON edition.id = batch.edition_id
        WHERE batch.edition_id = attempt.edition_id AND batch_is_open_1(batch)
          AND (kind = 'newsletter'
                   AND (state <> 'done' OR control NOT IN ('cancelled', 'closed'))
               OR state <> 'done' AND (batch.id = attempt.batch_id OR batch.attempt = attempt.id)))
    AND NOT EXISTS (SELECT FROM edition
                    WHERE edition.id = attempt.edition_id AND unreconciled_since IS NOT NULL)
    AND attempt.edition_id <> ALL (ARRAY(
        SELECT id FROM edition WHERE kind = 'newsletter' AND control <> 'scheduled'
        ORDER BY published_at DESC, id DESC LIMIT {NEWEST_KEPT}))
"""  # noqa: S608 -- a constant


def provider_retention_days() -> int:
    """Return after how many days the provider certainly has no record of a message."""
    return capabilities().remembers_days + MARGIN_DAYS


def details_retention_days() -> int:
    """Return the days that details are kept: DETAILS_KEEP_DAYS, or longer if needed."""
    return max(int(settings.DETAILS_KEEP_DAYS), provider_retention_days())


def old_attempts(days: float) -> OldRows:
    """Select the attempts older than `days` that nothing needs."""
    return OldRows("attempt", ["started_at", "id"], "started_at", days, _CALL_MAY_GO)


def applied_events(days: float) -> OldRows:
    """Select the applied provider events older than `days`. Failed events stay."""
    return OldRows("provider_event", ["id"], "received_at", days, "applied_at IS NOT NULL")


# Test letters and invitations that are unknown or have an alarm stay. Both draw their versions from
# one sequence, so a version belongs to one mail.
_WITHOUT_READER = (TEST_ISSUE, INVITATION_ISSUE)
_TEST_MAY_GO = f"""
    kind IN ('test', 'invitation') AND issue_id IN ('{TEST_ISSUE}', '{INVITATION_ISSUE}')
    AND NOT EXISTS (SELECT FROM batch
                    WHERE edition_id = edition.id AND batch_is_open_1(batch) AND state <> 'done')
    AND NOT EXISTS (SELECT FROM alarm WHERE edition_id = edition.id)
"""  # noqa: S608 -- a constant


def count_test_letters(days: float) -> int:
    """Count the test letters and invitations that may be deleted."""
    return OldRows("edition", ["version"], "published_at", days, _TEST_MAY_GO).count()


def delete_test_letters(days: float, *, batch_size: int = 100) -> Iterator[int]:
    """Delete test letters and invitations; yield how many each step deleted."""
    while True:
        with short_delete() as cursor:
            cursor.execute(
                f"""
                SELECT id, version FROM edition
                WHERE published_at < statement_timestamp() - make_interval(secs => %s)
                  AND {_TEST_MAY_GO}
                ORDER BY version LIMIT %s FOR UPDATE SKIP LOCKED
                """,  # noqa: S608 -- a constant
                [days * 86400, batch_size],
            )
            found = cursor.fetchall()
            editions, versions = [row[0] for row in found], [row[1] for row in found]
            if editions:
                for model in (Delivery, Evidence):
                    model._default_manager.filter(
                        issue_id__in=_WITHOUT_READER,
                        recipient_id=TEST_RECIPIENT,
                        version__in=versions,
                    ).delete()
                # This also deletes the batches and attempts of the editions.
                Edition.objects.filter(pk__in=editions).delete()
        yield len(editions)
        if len(editions) < batch_size:
            return
