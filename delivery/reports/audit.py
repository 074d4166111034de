"""The audit: queries for rows that break a rule. The audit reads all rows."""

from collections.abc import Mapping
from enum import Enum

from django.db import connection
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from delivery.queue.batches.roll_up import ROLLED_UP
from delivery.queue.batches.write_outcomes import COUNT_ROWS, COUNTS
from delivery.reports.load_edition_counts import rows_by_name

_COUNTED, _FOUND = (
    ", ".join(f"{row}.{name}" for name in ("size", *COUNTS)) for row in ("batch", "held")
)

_SUMS = ", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in ROLLED_UP)
_IN_TOTALS, _IN_BATCHES = (
    ", ".join(f"{row}.{name}" for name in ROLLED_UP) for row in ("total", "held")
)

# Editions whose deliveries are dropped have counts, but no rows of deliveries.
_HAS_ROWS = """(SELECT deliveries_dropped_at IS NULL FROM edition
                WHERE edition.id = batch.edition_id)"""


class AuditRule(Enum):
    """A rule about the counts.

    The value of a member is the query for rows that break its rule.
    """

    COUNTS_ADD_UP = """
        SELECT id AS edition, expected, held, counted
        FROM (SELECT edition.id, coalesce(sum(size), 0) AS held,
                     CASE WHEN kind = 'newsletter' THEN audience
                          ELSE coalesce(sum(size), 0) END AS expected,
                     coalesce(sum(sent + suppressed + withdrawn + failed + unknown + waiting), 0)
                         AS counted
              FROM edition LEFT JOIN batch ON batch.edition_id = edition.id
              WHERE edition.id = ANY(%s)
              GROUP BY edition.id) AS counts
        WHERE expected <> held OR expected <> counted
        """
    BATCH_COUNTS_EQUAL_ROWS = f"""
        SELECT batch.id AS batch, concat_ws('/', {_COUNTED}) AS counted,
               concat_ws('/', {_FOUND}) AS found
        FROM batch LEFT JOIN LATERAL (
            SELECT {COUNT_ROWS} FROM delivery WHERE batch_id = batch.id) AS held ON true
        WHERE batch.edition_id = ANY(%s) AND {_HAS_ROWS}
          AND ({_COUNTED}) IS DISTINCT FROM ({_FOUND})
        """  # noqa: S608 -- a constant
    TOTALS_EQUAL_ROLLED_UP_BATCHES = f"""
        SELECT edition.id AS edition, concat_ws('/', {_IN_TOTALS}) AS counted,
               concat_ws('/', {_IN_BATCHES}) AS found
        FROM edition, LATERAL (
            SELECT {_SUMS} FROM batch_total WHERE edition_id = edition.id) AS total,
        LATERAL (
            SELECT {_SUMS}, count(*) FILTER (WHERE state <> 'done' OR missed > 0) AS unfinished
            FROM batch WHERE edition_id = edition.id AND rolled_up) AS held
        WHERE edition.id = ANY(%s) AND (({_IN_TOTALS}) <> ({_IN_BATCHES}) OR unfinished > 0)
        """  # noqa: S608 -- constants
    # This rule compares sums of whole editions, because a delivery that is resent in another batch
    # stays counted in its old batch.
    FEEDBACK_COUNTS_EQUAL_ROWS = """
        SELECT edition.id AS edition, counted.bounced, counted.complained,
               held.bounced AS found_bounced, held.complained AS found_complained
        FROM edition, LATERAL (
            SELECT coalesce(sum(bounced), 0) AS bounced, coalesce(sum(complained), 0) AS complained
            FROM batch WHERE edition_id = edition.id) AS counted,
        LATERAL (
            SELECT count(bounced_at) AS bounced, count(complained_at) AS complained
            FROM delivery
            WHERE delivery.issue_id = edition.issue_id AND delivery.version = edition.version
            ) AS held
        WHERE edition.id = ANY(%s) AND deliveries_dropped_at IS NULL
          AND (counted.bounced, counted.complained) <> (held.bounced, held.complained)
        """
    DELIVERY_IS_IN_A_BATCH = """
        SELECT recipient_id AS recipient, edition.id AS edition, batch_id AS batch
        FROM edition JOIN delivery ON delivery.issue_id = edition.issue_id
                                  AND delivery.version = edition.version
             LEFT JOIN batch ON batch.id = batch_id AND batch.edition_id = edition.id
        WHERE edition.id = ANY(%s) AND batch.id IS NULL
        """
    PROVIDER_ID_IS_UNIQUE = """
        SELECT provider_message_id AS message_id, count(*) AS deliveries
        FROM delivery JOIN edition ON edition.issue_id = delivery.issue_id
                                  AND edition.version = delivery.version
        WHERE provider_message_id IS NOT NULL
        GROUP BY provider_message_id
        HAVING count(*) > 1 AND bool_or(edition.id = ANY(%s))
        """
    ACCEPTED_ONCE = """
        SELECT delivery.recipient_id AS recipient, edition.id AS edition,
               evidence.provider_message_id AS message_id
        FROM edition JOIN evidence ON evidence.issue_id = edition.issue_id
                                  AND evidence.version = edition.version
             JOIN delivery ON delivery.issue_id = evidence.issue_id
                          AND delivery.version = evidence.version
                          AND delivery.recipient_id = evidence.recipient_id
        WHERE edition.id = ANY(%s) AND delivery.outcome = 'sent'
          AND delivery.provider_message_id <> evidence.provider_message_id
        """
    SENT_HAS_EVIDENCE = """
        SELECT recipient_id AS recipient, edition.id AS edition, outcome, sent_at,
               coalesce(provider_message_id, '-') AS message_id
        FROM edition JOIN delivery ON delivery.issue_id = edition.issue_id
                                  AND delivery.version = edition.version
        WHERE edition.id = ANY(%s)
          AND ((outcome = 'sent' AND (provider_message_id IS NULL OR sent_at IS NULL
                                      OR evidence IS NULL))
            OR (outcome NOT IN ('sent', 'unknown')
                AND (provider_message_id IS NOT NULL OR sent_at IS NOT NULL)))
        """
    SETTLED_HAS_NO_LEASE = """
        SELECT id AS batch, state, lease_until
        FROM batch
        WHERE edition_id = ANY(%s) AND state IN ('done', 'parked') AND lease_until IS NOT NULL
        """
    ONLY_RUNNING_IS_QUEUED = """
        SELECT batch.id AS batch, edition.id AS edition, control,
               unreconciled_since IS NULL AS reconciled, state
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s)
          AND (control <> 'running' OR unreconciled_since IS NOT NULL)
          AND state IN ('ready', 'claimed')
          -- New transactional batches are paused when their call would start (start.py).
          AND (kind = 'newsletter'
               OR EXISTS (SELECT FROM attempt WHERE attempt.batch_id = batch.id))
        """
    PAUSED_BATCHES_ARE_PROBED = """
        SELECT edition.id AS edition, count(*) FILTER (WHERE state = 'paused') AS paused, probing
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s) AND control = 'running'
        GROUP BY edition.id, probing
        HAVING bool_or(state = 'paused')
           AND (NOT probing OR bool_and(state IN ('paused', 'parked', 'done')))
        """
    DROPPED_IS_SETTLED = """
        SELECT batch.id AS batch, edition.id AS edition, deliveries_dropped_at, state
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s) AND deliveries_dropped_at IS NOT NULL
          AND (state NOT IN ('done', 'parked')
               OR control = 'running' AND batch_is_open_1(batch))
        """
    CANCELLED_WAITS_FOR_NOTHING = """
        SELECT batch.id AS batch, edition.id AS edition, state, waiting
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s) AND control = 'cancelled' AND waiting > 0
          AND state NOT IN ('sending', 'unknown', 'looking_up')
        """


# The sentence of each rule, and the sentence about a violation of the rule.
SENTENCES: Mapping[AuditRule, Promise] = {
    AuditRule.COUNTS_ADD_UP: _(
        "Broken: the counts of an edition must add up to its audience. Edition {edition}: audience "
        "{expected}, in batches {held}, counted {counted}."
    ),
    AuditRule.BATCH_COUNTS_EQUAL_ROWS: _(
        "Broken: the counts of a batch must equal its rows. Batch {batch}: counts {counted}, rows "
        "{found}."
    ),
    AuditRule.TOTALS_EQUAL_ROLLED_UP_BATCHES: _(
        "Broken: the totals of an edition must equal its rolled-up batches, and these must be "
        "finished. Edition {edition}: totals {counted}, batches {found}."
    ),
    AuditRule.FEEDBACK_COUNTS_EQUAL_ROWS: _(
        "Broken: the bounces and complaints of an edition must equal its rows. Edition {edition}: "
        "counts {bounced}/{complained}, rows {found_bounced}/{found_complained}."
    ),
    AuditRule.DELIVERY_IS_IN_A_BATCH: _(
        "Broken: every delivery must be in a batch of its edition. Recipient {recipient} of "
        "edition {edition} is in batch {batch}."
    ),
    AuditRule.PROVIDER_ID_IS_UNIQUE: _(
        "Broken: two deliveries must not have the same provider ID. {message_id}: deliveries "
        "{deliveries}."
    ),
    AuditRule.ACCEPTED_ONCE: _(
        "Broken: no delivery may be accepted twice. Recipient {recipient} of edition {edition} was "
        "also accepted as {message_id}."
    ),
    AuditRule.SENT_HAS_EVIDENCE: _(
        "Broken: every sent delivery must have evidence. Recipient {recipient} of edition "
        "{edition}: outcome {outcome}, sent at {sent_at}, provider ID {message_id}."
    ),
    AuditRule.SETTLED_HAS_NO_LEASE: _(
        "Broken: a settled batch must not have a lease. Batch {batch} is {state} and leased until "
        "{lease_until}."
    ),
    AuditRule.ONLY_RUNNING_IS_QUEUED: _(
        "Broken: only running, reconciled editions may have queued batches. Batch {batch} is "
        "{state}. Edition {edition}: {control}, reconciled: {reconciled}."
    ),
    AuditRule.PAUSED_BATCHES_ARE_PROBED: _(
        "Broken: while a running edition has paused batches, one batch must go first. Edition "
        "{edition}: paused batches {paused}, probing: {probing}."
    ),
    AuditRule.DROPPED_IS_SETTLED: _(
        "Broken: editions whose deliveries were dropped must be settled. Batch {batch} of edition "
        "{edition} (dropped {deliveries_dropped_at}) is {state}."
    ),
    AuditRule.CANCELLED_WAITS_FOR_NOTHING: _(
        "Broken: deliveries of a cancelled edition may wait only in a call or look-up. Batch "
        "{batch} of edition {edition} is {state}, waiting: {waiting}."
    ),
}


def find_violations(editions: list[int]) -> list[tuple[AuditRule, str]]:
    """Find every violation among these editions: the broken rule and a sentence.

    An empty list means that the counts of the editions balance.
    """
    with connection.cursor() as cursor:
        found = []
        for rule in AuditRule:
            cursor.execute(rule.value, [editions])
            for row in rows_by_name(cursor):
                found.append((rule, str(SENTENCES[rule]).format(**row)))
    return found
