"""The words of the audit's violations."""

from collections.abc import Mapping

from delivery.reports.audit import AuditRule, Violation

# What the rule promises, and which rows break it.
_WORDS: Mapping[AuditRule, tuple[str, str]] = {
    AuditRule.COUNTS_ADD_UP: (
        "the counts of every edition add up to its audience",
        "edition {edition} has {expected} readers, its batches hold {held} and count {counted}",
    ),
    AuditRule.BATCH_COUNTS_EQUAL_ROWS: (
        "the counts of every batch equal its rows",
        "batch {batch} counts {counted} but has {found}",
    ),
    AuditRule.FEEDBACK_COUNTS_EQUAL_ROWS: (
        "the bounces and complaints of every edition equal its rows",
        "edition {edition} counts {bounced}/{complained}, has {found_bounced}/{found_complained}",
    ),
    AuditRule.DELIVERY_IS_IN_A_BATCH: (
        "every delivery of an edition is in one of its batches",
        "recipient {recipient} of edition {edition} is in batch {batch}",
    ),
    AuditRule.PROVIDER_ID_IS_UNIQUE: (
        "no two deliveries share a provider id",
        "{message_id} belongs to {deliveries} deliveries",
    ),
    AuditRule.ACCEPTED_ONCE: (
        "no delivery was accepted twice",
        "recipient {recipient} of edition {edition} was also accepted as {message_id}",
    ),
    AuditRule.SENT_HAS_EVIDENCE: (
        "nothing is marked as sent without evidence",
        "recipient {recipient} of edition {edition} is {outcome}, sent {sent_at} as {message_id}",
    ),
    AuditRule.SETTLED_HAS_NO_LEASE: (
        "nothing settled is under a lease",
        "batch {batch} is {state} and leased until {lease_until}",
    ),
    AuditRule.ONLY_RUNNING_IS_QUEUED: (
        "only batches of editions that run and are reconciled are queued",
        "batch {batch} of edition {edition}, which is {control}{unreconciled}, is {state}",
    ),
    AuditRule.PAUSED_BATCHES_ARE_PROBED: (
        "while batches of a running edition are held back, one of them goes first",
        "edition {edition} runs and holds {paused} batches back; probing: {probing}",
    ),
    AuditRule.DROPPED_IS_SETTLED: (
        "editions whose deliveries were dropped are settled",
        "batch {batch} of edition {edition}, dropped at {deliveries_dropped_at}, is {state}",
    ),
    AuditRule.CANCELLED_WAITS_FOR_NOTHING: (
        "no delivery of a cancelled edition waits outside a call or a look-up",
        "batch {batch} of edition {edition} is {state} with {waiting} waiting",
    ),
}


def violation_sentence(violation: Violation) -> str:
    """Which promise is broken, and where."""
    promise, where = _WORDS[violation.rule]
    return f"Broken: {promise}: {where.format(**violation.params)}"
