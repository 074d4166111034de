"""Guards of what is written down: by its holder, once, in full; and of what lost workers held."""

from __future__ import annotations

from tests.guards.guard import Change, covered, guard

SETTLE = "delivery/queue/settle.py"
SWEEP = "delivery/queue/sweep.py"
FATES = "delivery/queue/fates.py"

SETTLING = "tests/delivery/test_settling_a_call.py::"
EVIDENCE = "tests/delivery/test_evidence_of_acceptance.py::"
PAUSING = "tests/delivery/test_pausing.py::TestPausing::"
CANCELLING = "tests/delivery/test_cancelling.py::TestCancelling::"
FAULTS = "tests/delivery/test_faults_of_the_account.py::"
FIRST = f"{FAULTS}TestTheFirstBatchAfterAFault::"
LOST = "tests/delivery/test_lost_workers.py::"
DOUBT = "tests/delivery/test_unknown_attempts.py::"
MARKED = "tests/delivery/test_starting_a_call.py::TestADeliveryThatBearsAMarkOfHavingBeenSent::"

GUARD = "WHERE id = %(batch)s AND state = %(was)s AND epoch = %(epoch)s"
STILL_LOST = '"id = %s AND state = %s AND epoch = %s AND lease_until <= clock_timestamp()"'
EXPIRED = "AND lease_until <= clock_timestamp()\n                  ORDER"

GUARDS = [
    # --- Settling ---------------------------------------------------------------------------------
    guard(
        "a settle repeats the claim's epoch",
        SETTLE,
        GUARD,
        "WHERE id = %(batch)s AND state = %(was)s",
        f"{SETTLING}test_a_worker_of_an_earlier_epoch_does_not_settle_the_call_of_a_later_one",
    ),
    guard(
        "a settle repeats the batch's state",
        SETTLE,
        GUARD,
        "WHERE id = %(batch)s AND epoch = %(epoch)s",
        f"{SETTLING}test_a_stale_worker_does_not_settle_what_was_swept",
    ),
    guard(
        "outcomes change only of deliveries that are as the decision saw them",
        FATES,
        "if written != len(fates):",
        "if False:",
        f"{SETTLING}test_an_outcome_that_was_changed_by_other_hands_undoes_the_whole_settlement",
    ),
    guard(
        "a delivery that was settled keeps its outcome",
        FATES,
        "WHERE batch_id = %s AND outcome = %s AND",
        "WHERE batch_id = %s AND (outcome = %s OR true) AND",
        f"{SETTLING}test_an_outcome_that_was_changed_by_other_hands_undoes_the_whole_settlement",
    ),
    guard(
        "doubt keeps the provider's id that a delivery bears",
        FATES,
        "THEN provider_message_id END",
        "THEN NULL END",
        f"{MARKED}test_an_id_without_a_time_is_never_sent_again_by_itself",
    ),
    guard(
        "an answer that comes too late is kept as evidence",
        SETTLE,
        "kept = record_acceptances(cursor, claim.edition, attempt, late, Evidence.Source.REPLY)",
        "kept = 0",
        f"{SETTLING}test_the_answer_that_a_stale_worker_brings_is_kept_as_evidence",
    ),
    guard(
        "an answer that comes too late ends the doubt at once",
        SETTLE,
        "settle_by_evidence(cursor, claim.edition, [recipient for recipient, _ in late])",
        "pass",
        f"{EVIDENCE}test_an_answer_that_comes_after_its_claim_was_lost_ends_the_doubt_at_once",
    ),
    guard(
        "a settle heeds the evidence that came meanwhile",
        SETTLE,
        "unheeded = unheeded_in(cursor, claim.batch)",
        "unheeded: list[int] = []",
        f"{EVIDENCE}test_what_came_during_a_call_that_ends_in_doubt_is_heeded_when_it_is_settled",
    ),
    guard(
        "a second copy that a look-up finds is kept and raises its alarm",
        SETTLE,
        "record_acceptances(cursor, claim.edition, claim.attempt, again, Evidence.Source.LOOKUP)",
        "len(again)",
        f"{EVIDENCE}test_two_copies_that_a_look_up_finds_are_an_alarm",
    ),
    guard(
        "what comes back into line asks under the edition's lock how it stands",
        SETTLE,
        "for lock in (_needs_lock(claim, settlement, was), True):",
        "for lock in (False, True):",
        f"{PAUSING}test_what_is_put_off_by_the_provider_meanwhile_comes_back_paused",
    ),
    guard(
        "what is put off while its edition is held back waits with the rest",
        SETTLE,
        'in_line = "ready" if control == "running" else "paused"',
        'in_line = "ready"',
        f"{PAUSING}test_what_is_put_off_by_the_provider_meanwhile_comes_back_paused",
    ),
    guard(
        "what a call did not bring out of a cancelled edition is withdrawn, not tried again",
        SETTLE,
        'if control == "cancelled":',
        'if control == "never":',
        f"{CANCELLING}test_what_a_call_in_the_air_did_not_bring_out_never_goes",
    ),
    guard(
        "a marked copy of a cancelled edition is asked about and not withdrawn",
        SETTLE,
        "set_marked_aside(cursor, claim.edition, batch=claim.batch)",
        "pass",
        f"{CANCELLING}test_a_copy_that_was_marked_during_the_call_is_asked_about_and_not_withdrawn",
    ),
    guard(
        "a refused address is mailed no more",
        SETTLE,
        "    if refused:\n",
        "    if False:\n",
        f"{SETTLING}test_a_refused_address_fails_with_its_reason_and_its_reader_is_marked_bounced",
    ),
    guard(
        "a fault of the account stops the edition",
        SETTLE,
        "stop(cursor, claim.edition, settlement.stop_edition)",
        "pass",
        f"{FAULTS}test_the_edition_stops_at_once_says_what_to_set_right_and_burns_no_tries",
    ),
    guard(
        "what a look-up finds is no judgement about the account",
        SETTLE,
        "probing and not looked_up and _was_judged(settlement):",
        "probing and _was_judged(settlement):",
        f"{FIRST}test_what_a_look_up_finds_is_no_judgement",
    ),
    guard(
        "a call that was put off is no judgement about the account",
        SETTLE,
        "probing and not looked_up and _was_judged(settlement):",
        "probing and not looked_up:",
        f"{FIRST}test_a_call_that_was_put_off_is_no_judgement",
    ),
    guard(
        "the next goes first where everybody in the first batch had left",
        "delivery/queue/start.py",
        "        pass_probe_on(cursor, claim.edition)",
        "        pass",
        f"{FIRST}test_readers_who_all_left_are_no_judgement",
    ),
    guard(
        "the next goes first where the first batch was parked",
        SWEEP,
        "            pass_probe_on(cursor, lost.edition)",
        "            pass",
        f"{FIRST}test_the_rest_goes_on_after_it_was_parked",
    ),
    guard(
        "look-ups of the schedule count from the beginning of the doubt",
        SETTLE,
        "{_SINCE} + make_interval(secs => %(lookup_after)s)",
        "clock_timestamp()",
        f"{DOUBT}test_before_the_first_look_up_is_due_nothing_is_asked_and_nothing_is_sent",
    ),
    guard(
        "doubt is not forgotten by a look-up that proves nothing",
        SETTLE,
        "WHEN %(asks)s OR %(state)s = 'parked' THEN doubt_since END",
        "WHEN %(asks)s OR %(state)s = 'parked' THEN clock_timestamp() END",
        f"{DOUBT}test_every_look_up_of_the_schedule_counts_from_the_beginning",
    ),
    # --- Sweeping ---------------------------------------------------------------------------------
    covered(
        "a lease that still runs is left alone",
        "The sweep looks at the lease when it looks for lost batches, and again in the statement "
        "that brings one back.",
        (
            Change(SWEEP, EXPIRED, "            ORDER"),
            Change(SWEEP, STILL_LOST, '"id = %s AND state = %s AND epoch = %s"'),
        ),
        f"{LOST}test_a_lease_that_still_runs_is_left_alone",
    ),
    covered(
        "a sweep repeats the epoch that it saw",
        "What was claimed anew has a lease that still runs.",
        (Change(SWEEP, STILL_LOST, '"id = %s AND state = %s AND (epoch = %s OR true)"'),),
        f"{LOST}test_what_was_claimed_anew_while_the_sweep_looks_is_left_alone",
    ),
    covered(
        "a sweep repeats the state that it saw",
        "What was settled or given back has no lease any more.",
        (Change(SWEEP, STILL_LOST, '"id = %s AND (state = %s OR true) AND epoch = %s"'),),
        f"{LOST}test_what_was_given_back_while_the_sweep_looks_is_no_crash",
    ),
    guard(
        "a sweep heeds the evidence that came while the worker was lost",
        SWEEP,
        "unheeded = unheeded_in(cursor, lost.batch)",
        "unheeded: list[int] = []",
        f"{EVIDENCE}test_what_came_while_a_worker_was_lost_is_heeded_by_the_sweep",
    ),
    guard(
        "a lost call is looked up from its deadline on, not before",
        SWEEP,
        "coalesce(deadline_at, lease_until) AS since",
        "coalesce(started_at, lease_until) AS since",
        f"{DOUBT}test_a_lost_worker_leaves_an_attempt_that_is_looked_up_from_its_deadline_on",
    ),
    guard(
        "the first look-up after a lost call has its quiet period",
        SWEEP,
        "due_at = greatest(clock_timestamp(), since + make_interval(secs => %s)),",
        "due_at = greatest(clock_timestamp(), since + 0 * make_interval(secs => %s)),",
        f"{DOUBT}test_a_lost_worker_leaves_an_attempt_that_is_looked_up_from_its_deadline_on",
    ),
    guard(
        "a worker that was lost before its call counts against the batch",
        SWEEP,
        "owner = NULL, lease_until = NULL, crashes = crashes + 1\n        WHERE",
        "owner = NULL, lease_until = NULL\n        WHERE",
        f"{LOST}test_a_poisonous_delivery_is_found_by_halving_and_parked_alone",
    ),
    guard(
        "a worker that was lost during its call counts against the batch",
        SWEEP,
        "crashes = crashes + 1, lookups = 0,",
        "lookups = 0,",
        f"{LOST}test_a_delivery_that_ends_workers_during_its_call_is_parked_too",
    ),
    guard(
        "a batch that cost two workers is halved",
        SWEEP,
        "            halve(cursor, lost.batch, lost.edition)",
        "            pass",
        f"{LOST}test_a_poisonous_delivery_is_found_by_halving_and_parked_alone",
    ),
    guard(
        "halves start without the crashes of the whole",
        "delivery/queue/split.py",
        '    cursor.execute("UPDATE batch SET crashes = 0 WHERE id = %s", [batch])',
        "    pass",
        f"{LOST}test_halves_start_without_the_crashes_of_the_whole",
    ),
    guard(
        "one batch that cannot be brought back keeps no other from coming back",
        SWEEP,
        "    except DatabaseError:",
        "    except ZeroDivisionError:",
        f"{LOST}test_one_that_cannot_be_brought_back_keeps_no_other_from_coming_back",
    ),
]
