"""Break each rule directly in the database: a constraint or the audit notices."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Model
from django.db.models.functions import Now

from delivery.issue_attributes import CONTENT_ATTRIBUTES
from delivery.models import Batch, Delivery, Edition, Newsletter
from delivery.queue import edition_control
from delivery.reconcile import database_identity
from delivery.reports.audit import AuditRule, find_violations
from tests.delivery.edition_factory import Newsroom
from tests.delivery.worker_steps import changed

UNFREEZE = "ALTER TABLE edition DISABLE TRIGGER the_content_of_an_edition_never_changes"


def broken_by(statement: str, *parameters: object) -> str:
    """Return the constraint that refuses a statement."""
    with (
        pytest.raises(IntegrityError) as refused,
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement, parameters)
    diagnostics = refused.value.__cause__.diag  # type: ignore[union-attr]
    return str(diagnostics.constraint_name or diagnostics.message_primary)


def broken_rules(edition: Edition) -> list[AuditRule]:
    return [rule for rule, _ in find_violations([edition.pk])]


@pytest.fixture
def sent(newsroom: Newsroom) -> Edition:
    edition = newsroom.publish(readers=3)
    newsroom.deliver_all()
    return edition


AN_ATTEMPT = (
    "INSERT INTO attempt (id, batch_id, edition_id, stream, epoch, worker, messages, deadline_at, "
    "detail, accepted, result) SELECT gen_random_uuid(), 1, id, stream, 1, gen_random_uuid(), 1, "
    "clock_timestamp(), '', {accepted}, {result} FROM edition"
)
REFUSED = [
    ("UPDATE batch SET sent = 1", "the_counts_of_a_batch_add_up"),
    ("UPDATE batch SET missed = 1", "the_missed_are_among_the_failed"),
    ("UPDATE batch SET state = 'done'", "a_done_batch_has_nothing_open"),
    ("UPDATE batch SET state = 'claimed'", "a_lease_is_held_exactly_while_a_worker_works"),
    (
        "UPDATE batch SET lease_until = clock_timestamp()",
        "a_lease_is_held_exactly_while_a_worker_works",
    ),
    ("UPDATE batch SET state = 'unknown'", "unknown_has_a_beginning"),
    (
        "UPDATE batch SET state = 'sending', lease_until = now(), owner = gen_random_uuid()",
        "a_call_is_made_under_an_attempt",
    ),
    ("UPDATE delivery SET outcome = 'sent'", "sent_only_with_a_provider_id_a_time_and_evidence"),
    ("UPDATE delivery SET outcome = 'failed'", "failed_always_says_why"),
    ("UPDATE delivery SET outcome = 'received'", "delivery_outcome_is_known"),
    ("INSERT INTO delivery SELECT * FROM delivery", "delivery_pkey"),
    ("UPDATE edition SET control = 'stopped', control_reason = ''", "a_stopped_edition_says_why"),
    (
        (
            "INSERT INTO newsletter (id, name, tagline, postal_address, time_zone, language, "
            "reply_to) VALUES (2, '', '', '', '', '', '')"
        ),
        "there_is_one_newsletter",
    ),
    ("UPDATE batch SET size = 501, waiting = 501", "a_batch_holds_at_most_500"),
    ("UPDATE delivery SET missed = true", "only_a_failed_copy_was_missed"),
    (
        "UPDATE edition SET held_until = published_at - interval '1 second'",
        "an_edition_is_not_held_before_it_is_published",
    ),
    ("UPDATE edition SET control = 'asleep'", "edition_control_is_known"),
    (f"{UNFREEZE}; UPDATE edition SET goes_to = 'some'", "edition_goes_to_is_known"),
    (
        "UPDATE edition SET deliveries_dropped_at = clock_timestamp(), control = 'paused'",
        "deliveries_are_dropped_only_of_ended_editions",
    ),
    (
        (
            "UPDATE edition SET deliveries_dropped_at = clock_timestamp(); "
            "UPDATE edition SET deliveries_dropped_at = NULL"
        ),
        "deliveries_once_dropped_stay_dropped",
    ),
    (
        "UPDATE edition SET unreconciled_since = clock_timestamp()",
        "nothing_runs_before_it_is_reconciled",
    ),
    (AN_ATTEMPT.format(accepted=2, result="NULL"), "an_attempt_cannot_accept_more_than_it_carries"),
    (AN_ATTEMPT.format(accepted=1, result="'answered'"), "an_answered_attempt_has_ended"),
    (
        (
            "INSERT INTO evidence (provider_message_id, issue_id, recipient_id, version, "
            "source) SELECT 'm-1', issue_id, recipient_id, version, 'reply' FROM delivery"
        ),
        "one_row_per_provider_id",
    ),
    (
        (
            "INSERT INTO alarm (edition_id, kind, about, reason) "
            "SELECT id, 'accepted_twice', 'm-1', '' FROM edition, generate_series(1, 2)"
        ),
        "an_alarm_is_raised_once",
    ),
    (
        (
            "INSERT INTO provider_event (body_hash, kind, body) "
            "SELECT 'one', '', '' FROM generate_series(1, 2)"
        ),
        "an_event_is_stored_once",
    ),
    ("INSERT INTO send_rate (id) VALUES (2)", "there_is_one_send_rate"),
    ("UPDATE batch SET edition_id = edition_id + 1", "a_batch_is_numbered_within_its_edition"),
    (
        (
            "INSERT INTO database_identity (id, system_identifier, timeline, database) "
            "VALUES (2, '', '', 1)"
        ),
        "there_is_one_identity",
    ),
]


@pytest.mark.parametrize(("statement", "promise"), REFUSED, ids=[promise for _, promise in REFUSED])
def test_the_database_refuses_contradictory_rows(
    newsroom: Newsroom, statement: str, promise: str
) -> None:
    newsroom.publish(readers=2)
    Newsletter.objects.get_current()
    assert broken_by(statement) == promise


@pytest.mark.parametrize(
    "column",
    [
        *(one.column for one in CONTENT_ATTRIBUTES),
        *("html_mail", "text_mail", "archive_url", "goes_to", "approved_sender"),
    ],
)
def test_the_content_of_an_edition_never_changes(newsroom: Newsroom, column: str) -> None:
    newsroom.publish(readers=1)
    assert "never changes" in broken_by(f"UPDATE edition SET {column} = 'another'")


def test_the_database_lets_an_author_publish_once_per_key(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1, key="the-key")
    copy = Edition.objects.get(pk=edition.pk)
    copy.pk, copy.version = None, 2
    with pytest.raises(IntegrityError, match="an_author_publishes_once_per_key"):
        copy.save(force_insert=True)


def test_the_database_refuses_versions_below_one(newsroom: Newsroom) -> None:
    copy = newsroom.publish(readers=1)
    copy.pk, copy.version, copy.idempotency_key = None, 0, None
    with pytest.raises(IntegrityError, match="versions_count_from_one"):
        copy.save(force_insert=True)


def test_audit_finds_a_sent_time_without_evidence(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    changed(newsroom.copies(edition)[0], sent_at=edition.published_at)
    assert broken_rules(edition) == [AuditRule.SENT_HAS_EVIDENCE]


@pytest.mark.parametrize(
    ("model", "changes", "rule"),
    [
        (Batch, {"sent": 2, "suppressed": 1}, AuditRule.BATCH_COUNTS_EQUAL_ROWS),
        (Delivery, {"provider_message_id": "same"}, AuditRule.PROVIDER_ID_IS_UNIQUE),
        (Edition, {"audience": 4}, AuditRule.COUNTS_ADD_UP),
    ],
)
def test_audit_finds_impossible_rows(
    sent: Edition, model: type[Model], changes: dict[str, object], rule: AuditRule
) -> None:
    assert broken_rules(sent) == []
    model._default_manager.update(**changes)
    assert rule in broken_rules(sent)


def test_the_audit_finds_missed_copies_not_counted(newsroom: Newsroom, sent: Edition) -> None:
    missed = {"outcome": "failed", "reason": "All tries are used up.", "missed": True}
    unproved = dict.fromkeys(("sent_at", "provider_message_id", "evidence"))
    changed(newsroom.copies(sent)[0], **missed, **unproved)
    Batch.objects.update(sent=2, failed=1)
    assert broken_rules(sent) == [AuditRule.BATCH_COUNTS_EQUAL_ROWS]
    Batch.objects.update(missed=1)
    assert broken_rules(sent) == []


@pytest.mark.parametrize("what", ["bounced", "complained"])
def test_the_audit_finds_bounces_not_counted(newsroom: Newsroom, sent: Edition, what: str) -> None:
    changed(newsroom.copies(sent)[0], **{f"{what}_at": Now()})
    assert broken_rules(sent) == [AuditRule.FEEDBACK_COUNTS_EQUAL_ROWS]
    Batch.objects.update(**{what: 1})
    assert broken_rules(sent) == []


@pytest.mark.parametrize("held_back_by", ["pause", "restore"])
def test_the_audit_finds_a_queued_batch_held_back(newsroom: Newsroom, held_back_by: str) -> None:
    edition = newsroom.publish(3)
    if held_back_by == "pause":
        edition_control.pause(edition.pk)
    else:
        database_identity.declare_restored()
    assert broken_rules(edition) == []
    Batch.objects.update(state="ready")
    assert broken_rules(edition) == [AuditRule.ONLY_RUNNING_IS_QUEUED]


def test_audit_finds_waiting_copies_of_cancelled_editions(newsroom: Newsroom) -> None:
    edition = newsroom.publish(3)
    edition_control.cancel(edition.pk)
    assert broken_rules(edition) == []
    Delivery.objects.update(outcome="waiting", reason=None)
    Batch.objects.update(state="paused", waiting=3, withdrawn=0)
    assert broken_rules(edition) == [AuditRule.CANCELLED_WAITS_FOR_NOTHING]


@pytest.mark.parametrize("probing", [True, False])
def test_audit_finds_paused_batches_without_a_probe(newsroom: Newsroom, probing: bool) -> None:
    edition = newsroom.publish(3)
    Batch.objects.update(state="paused")
    Edition.objects.update(probing=probing)
    assert broken_rules(edition) == [AuditRule.PAUSED_BATCHES_ARE_PROBED]
