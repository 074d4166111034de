"""Guards of a claim and of the start of a call: one holder, the record first, a last look."""

from __future__ import annotations

from tests.guards.guard import Change, covered, guard

CLAIM = "delivery/queue/claim.py"
START = "delivery/queue/start.py"
MARKS = "delivery/queue/set_aside.py"

CLAIMING = "tests/delivery/test_claiming_a_batch.py::"
STARTING = "tests/delivery/test_starting_a_call.py::"
MARKED = f"{STARTING}TestADeliveryThatBearsAMarkOfHavingBeenSent::"
BARE = "tests/delivery/test_bare_marks_raise_an_alarm.py::"
SETTLING = "tests/delivery/test_settling_a_call.py::"
DOUBT = "tests/delivery/test_unknown_attempts.py::"
LOST = "tests/delivery/test_lost_workers.py::"
PAUSING = "tests/delivery/test_pausing.py::TestPausing::"
CANCELLING = "tests/delivery/test_cancelling.py::TestCancelling::"
RACES = "tests/delivery/test_decisions_that_race.py::"
COST = "tests/database_cost/test_how_the_hot_statements_are_read.py::"
FROZEN = "tests/faults/test_frozen_workers.py::"

IN_LINE = "ORDER BY pos, id LIMIT 1\n            FOR UPDATE SKIP LOCKED"
IN_DOUBT = "ORDER BY due_at, id LIMIT 1\n            FOR UPDATE SKIP LOCKED"
START_GUARD = """WHERE batch.id = %s AND state = 'claimed' AND epoch = %s
              AND lease_until > clock_timestamp()"""
HELD_BACK = Change(START, 'if control != "running":', "if False:")

GUARDS = [
    # --- Claiming ---------------------------------------------------------------------------------
    guard(
        "of two workers that claim at once one gets the batch",
        CLAIM,
        IN_LINE,
        "ORDER BY pos, id LIMIT 1",
        f"{CLAIMING}test_twenty_workers_that_race_for_ten_batches_get_one_each_or_none",
    ),
    guard(
        "a batch that another is claiming is passed over and not waited for",
        CLAIM,
        IN_LINE,
        "ORDER BY pos, id LIMIT 1\n            FOR UPDATE NOWAIT",
        f"{CLAIMING}test_a_batch_that_another_transaction_is_claiming_is_passed_over_not_waited_for",
    ),
    guard(
        "only a batch that is ready is claimed for a call",
        CLAIM,
        "WHERE state = 'ready' AND due_at <= clock_timestamp() AND {provided}",
        "WHERE state IN ('ready', 'claimed') AND due_at <= clock_timestamp() AND {provided}",
        f"{CLAIMING}test_a_claimed_batch_is_not_given_to_a_second_worker",
    ),
    guard(
        "nothing is claimed before it is due",
        CLAIM,
        "WHERE state = 'ready' AND due_at <= clock_timestamp() AND {provided}",
        "WHERE state = 'ready' AND {provided}",
        f"{CLAIMING}test_nothing_is_claimed_before_the_hold_is_over",
    ),
    guard(
        "a claim reads the first in line, however many wait",
        "migrations/delivery/0022_what_is_not_over_is_found_by_its_words.py",
        "condition=NOT_OVER,",
        'condition=~models.Q(state="done") | models.Q(missed__gt=0),',
        f"{COST}test_a_call_reads_as_many_batches_however_many_wait",
    ),
    guard(
        "a claim raises the epoch",
        CLAIM,
        "UPDATE batch SET state = 'claimed', epoch = epoch + 1,",
        "UPDATE batch SET state = 'claimed',",
        f"{CLAIMING}test_a_claim_that_was_lost_cannot_be_released",
        f"{STARTING}test_a_worker_whose_batch_was_claimed_by_another_starts_no_call",
    ),
    guard(
        "a claim for a look-up raises the epoch",
        CLAIM,
        "UPDATE batch SET state = 'looking_up', epoch = epoch + 1,",
        "UPDATE batch SET state = 'looking_up',",
        f"{DOUBT}test_a_look_up_that_lost_its_claim_changes_nothing",
    ),
    guard(
        "of two workers that would look up the same doubt one does",
        CLAIM,
        IN_DOUBT,
        "ORDER BY due_at, id LIMIT 1",
        f"{DOUBT}test_workers_that_race_for_look_ups_get_one_each",
    ),
    guard(
        "a doubt that another is claiming is passed over and not waited for",
        CLAIM,
        IN_DOUBT,
        "ORDER BY due_at, id LIMIT 1\n            FOR UPDATE NOWAIT",
        f"{DOUBT}test_doubt_that_another_transaction_is_claiming_is_passed_over",
    ),
    guard(
        "no look-up before it is due",
        CLAIM,
        "WHERE state = 'unknown' AND due_at <= clock_timestamp()",
        "WHERE state = 'unknown'",
        f"{DOUBT}test_before_the_first_look_up_is_due_nothing_is_asked_and_nothing_is_sent",
    ),
    guard(
        "a batch is given back only under the claim's epoch",
        CLAIM,
        "WHERE id = %s AND state = 'claimed' AND epoch = %s",
        "WHERE id = %s AND state = 'claimed' AND (epoch = %s OR true)",
        f"{CLAIMING}test_a_claim_that_was_lost_cannot_be_released",
    ),
    guard(
        "a batch whose call is on record is not given back as unused",
        CLAIM,
        "WHERE id = %s AND state = 'claimed' AND epoch = %s",
        "WHERE id = %s AND epoch = %s",
        f"{CLAIMING}test_a_batch_whose_call_is_on_record_cannot_be_released",
    ),
    # --- Starting ---------------------------------------------------------------------------------
    guard(
        "a start repeats the claim's epoch",
        START,
        START_GUARD,
        START_GUARD.replace("epoch = %s", "(epoch = %s OR true)"),
        f"{STARTING}test_a_worker_whose_batch_was_claimed_by_another_starts_no_call",
    ),
    guard(
        "a start looks at the claim's lease",
        START,
        START_GUARD,
        "WHERE batch.id = %s AND state = 'claimed' AND epoch = %s",
        f"{STARTING}test_a_worker_whose_lease_has_ended_starts_no_call",
    ),
    covered(
        "a start looks at the batch's state",
        "A pause ends the lease as well as the state, so that the lease alone would notice it; and "
        "what is held back starts nothing, whatever its batch says.",
        (Change(START, START_GUARD, "WHERE batch.id = %s AND epoch = %s"), HELD_BACK),
        f"{PAUSING}test_a_batch_that_was_claimed_before_the_pause_does_not_start",
        f"{CANCELLING}test_a_batch_that_was_claimed_before_it_does_not_start",
    ),
    guard(
        "a call holds its batch for the deadline and the lease",
        START,
        "[attempt, deadline_s + lease_s, claim.batch, claim.epoch]",
        "[attempt, lease_s, claim.batch, claim.epoch]",
        f"{STARTING}test_a_started_call_holds_its_batch_for_the_deadline_and_the_lease",
    ),
    guard(
        "the attempt is on record before the call",
        START,
        "FROM edition WHERE id = %s",
        "FROM edition WHERE id = %s AND false",
        f"{STARTING}test_the_attempt_is_committed_before_the_provider_has_accepted_anything",
    ),
    guard(
        "the record of the attempt is committed before the first byte leaves",
        "delivery/dispatch.py",
        "        deadline_at_s = now_s() + timing.deadline_s\n",
        "        deadline_at_s = now_s() + timing.deadline_s\n"
        "        self._postmark.send(\n"
        "            _as_array([message for _, message in messages.values()]),\n"
        "            [address for address, _ in messages.values()],\n"
        "            deadline_at_s=deadline_at_s,\n"
        "        )\n",
        f"{STARTING}test_the_attempt_is_committed_before_the_provider_has_accepted_anything",
    ),
    guard(
        "transactions of the queue are outermost, so that their commit is one",
        "delivery/queue/short_transaction.py",
        "transaction.atomic(durable=not _is_joined.get())",
        "transaction.atomic()",
        f"{STARTING}test_a_call_is_not_put_on_record_inside_another_transaction",
    ),
    guard(
        "a worker that freezes in a transaction does not keep its rows",
        "delivery/queue/short_transaction.py",
        '        cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout',
        '        str(f"SET LOCAL idle_in_transaction_session_timeout',
        f"{STARTING}test_a_transaction_that_falls_silent_is_ended_by_the_server",
    ),
    guard(
        "consent is looked at again when a call starts",
        START,
        "else readers.registered().no_longer_mailable(unmarked, kind)",
        "else {}",
        f"{STARTING}test_who_left_after_publishing_gets_no_copy_and_is_counted_as_withdrawn",
    ),
    guard(
        "whoever left gets nothing",
        "subscribers/readers.py",
        "OR subscriber.state IN ('unsubscribed', 'bounced', 'complained')",
        "OR subscriber.state IN ('bounced', 'complained')",
        "tests/subscribers/test_what_delivery_asks_about_readers.py::"
        "test_who_left_is_withdrawn_and_who_bounced_or_complained_is_suppressed",
    ),
    guard(
        "whoever bounced or complained gets nothing",
        "subscribers/readers.py",
        "OR subscriber.state IN ('unsubscribed', 'bounced', 'complained')",
        "OR subscriber.state IN ('unsubscribed')",
        "tests/subscribers/test_what_delivery_asks_about_readers.py::"
        "test_who_left_is_withdrawn_and_who_bounced_or_complained_is_suppressed",
    ),
    guard(
        "a suppressed address gets nothing",
        "subscribers/readers.py",
        "address_key = subscriber.email_key AND lifted_at IS NULL)",
        "address_key = subscriber.email_key AND false)",
        "tests/subscribers/test_what_delivery_asks_about_readers.py::"
        "test_a_suppressed_address_is_suppressed_unless_its_owner_left_by_themselves",
    ),
    guard(
        "whoever is no longer held here gets nothing",
        "subscribers/readers.py",
        "WHERE subscriber.id IS NULL\n        OR subscriber.state",
        "WHERE subscriber.state",
        "tests/subscribers/test_what_delivery_asks_about_readers.py::"
        "test_who_is_no_longer_held_here_is_withdrawn",
    ),
    # --- Marks of having been sent ----------------------------------------------------------------
    guard(
        "a marked copy does not go with the others",
        START,
        "(marked if bears_a_mark",
        "(marked if False and bears_a_mark",
        f"{MARKED}test_a_bare_time_is_not_sent_again_before_the_provider_was_asked",
    ),
    guard(
        "a provider's id is a mark of having been sent",
        MARKS,
        "(provider_message_id IS NOT NULL OR sent_at IS NOT NULL OR",
        "(sent_at IS NOT NULL OR",
        f"{MARKED}test_an_id_without_a_time_is_never_sent_again_by_itself",
    ),
    guard(
        "a time is a mark of having been sent",
        MARKS,
        "(provider_message_id IS NOT NULL OR sent_at IS NOT NULL OR",
        "(provider_message_id IS NOT NULL OR",
        f"{MARKED}test_a_bare_time_is_not_sent_again_before_the_provider_was_asked",
    ),
    guard(
        "evidence is a mark of having been sent",
        MARKS,
        "sent_at IS NOT NULL OR {_IS_PROVED})",
        "sent_at IS NOT NULL)",
        f"{MARKED}test_an_acceptance_that_is_on_record_is_a_mark_too",
    ),
    guard(
        "a bare mark of having been sent raises an alarm",
        MARKS,
        "    _raise_alarms(cursor, batch, edition, marked)\n",
        "",
        f"{BARE}test_a_worker_that_finds_one_raises_an_alarm",
        f"{BARE}test_a_cancel_that_finds_one_raises_an_alarm",
    ),
    guard(
        "an acceptance that is on record raises no alarm about a bare mark",
        MARKS,
        " AND NOT {_IS_PROVED}",
        "",
        f"{BARE}test_an_acceptance_that_is_on_record_is_nobody_elses_mark",
    ),
    guard(
        "what bears a provider's id is never sent again by itself",
        "delivery/look_up.py",
        " and not doubt.bears_an_id",
        "",
        f"{MARKED}test_an_id_without_a_time_is_never_sent_again_by_itself",
    ),
    # --- The edition's lock -----------------------------------------------------------------------
    guard(
        "what brings batches back into line takes the edition's lock",
        "delivery/queue/split.py",
        "WHERE id = %s FOR NO KEY UPDATE",
        "WHERE id = %s",
        f"{RACES}test_whoever_decides_holds_the_edition",
    ),
    guard(
        "a stop and a start do not wait for each other in a circle",
        "delivery/queue/split.py",
        "WHERE id = %s FOR NO KEY UPDATE",
        "WHERE id = %s FOR UPDATE",
        "tests/delivery/test_faults_of_the_account.py::"
        "test_a_fault_that_stops_an_edition_and_a_start_do_not_wait_for_each_other",
    ),
    guard(
        "a batch holds no more or less than was moved into it",
        "delivery/queue/split.py",
        "if cursor.rowcount != len(recipients):",
        "if False:",
        f"{LOST}test_what_does_not_wait_in_a_batch_cannot_be_split_off",
    ),
]
