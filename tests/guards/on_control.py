"""Guards of what people and faults decide: nothing begins after a pause, nothing leaves an end."""

from __future__ import annotations

from tests.guards.guard import guard

CONTROL = "delivery/queue/control.py"
WITHDRAW = "delivery/queue/withdraw.py"
MISSED_COPIES = "delivery.outcome = 'failed' AND delivery.missed\n"

PAUSING = "tests/delivery/test_pausing.py::TestPausing::"
HOLD = "tests/delivery/test_the_hold.py::TestTheHold::"
CANCELLING = "tests/delivery/test_cancelling.py::TestCancelling::"
MISSED = "tests/delivery/test_sending_again.py::TestSendingToTheMissed::"
PERSON = "tests/delivery/test_sending_again.py::TestDoubtThatIsLeftToAPerson::"
CLOSING = "tests/delivery/test_closing.py::TestClosing::"
FAULTS = "tests/delivery/test_faults_of_the_account.py::"
FIRST = f"{FAULTS}TestTheFirstBatchAfterAFault::"
EVIDENCE = "tests/delivery/test_evidence_of_acceptance.py::"
RESTORED = "tests/delivery/test_restored_backup.py::"

_BEGIN = '        cursor.execute(\n            f"""\n            WITH again AS (\n                '
MISSED_BEGIN = f"{_BEGIN}SELECT"
DOUBT_BEGIN = f"{_BEGIN}UPDATE"

GUARDS = [
    # --- Holding back -----------------------------------------------------------------------------
    guard(
        "a pause takes claimed batches out of their workers' hands",
        CONTROL,
        "AND {NOT_OVER} AND state IN ('ready', 'claimed')",
        "AND {NOT_OVER} AND state IN ('ready')",
        f"{PAUSING}test_a_batch_that_was_claimed_before_the_pause_does_not_start",
        f"{FAULTS}test_after_the_stop_a_worker_that_had_claimed_a_batch_starts_no_call",
    ),
    guard(
        "only what runs is paused",
        CONTROL,
        'if lock_edition(cursor, edition) != "running":',
        'if lock_edition(cursor, edition) == "":',
        f"{PAUSING}test_only_what_runs_can_be_paused_and_only_once",
    ),
    guard(
        "a stop leaves what has ended ended",
        CONTROL,
        "ELSE control_reason END\n"
        "        WHERE id = %s AND control IN ('running', 'paused', 'stopped')",
        "ELSE control_reason END\n        WHERE id = %s",
        f"{EVIDENCE}test_a_second_copy_after_the_end_is_an_alarm_and_the_end_stays",
    ),
    guard(
        "only what is held back is resumed",
        CONTROL,
        'if control not in {"stopped", "paused"} or unreconciled:',
        "if unreconciled:",
        f"{FAULTS}test_an_edition_that_is_not_stopped_has_nothing_to_resume",
    ),
    guard(
        "an edition that is not reconciled is not resumed",
        CONTROL,
        'if control not in {"stopped", "paused"} or unreconciled:',
        'if control not in {"stopped", "paused"}:',
        f"{RESTORED}test_before_it_is_reconciled_an_edition_is_neither_resumed_nor_closed",
    ),
    guard(
        "an edition that is not reconciled is not closed",
        CONTROL,
        "              AND unreconciled_since IS NULL\n",
        "",
        f"{RESTORED}test_before_it_is_reconciled_an_edition_is_neither_resumed_nor_closed",
    ),
    guard(
        "after a fault one batch goes first",
        CONTROL,
        'probe = control == "stopped" or probing',
        "probe = False",
        f"{FAULTS}test_resuming_sends_one_batch_first_and_the_rest_once_it_was_judged",
    ),
    guard(
        "a pause does not forget that one batch has to go first",
        CONTROL,
        'probe = control == "stopped" or probing',
        'probe = control == "stopped"',
        f"{PAUSING}test_pausing_while_one_batch_goes_first_does_not_let_the_rest_go_after_it",
    ),
    guard(
        "the rest does not go after the first while its edition is held back",
        CONTROL,
        'if row == ("running",):',
        "if row:",
        f"{FIRST}test_judged_while_the_edition_is_paused_it_lets_nobody_go",
    ),
    guard(
        "the first batch keeps its turn while it will still do something by itself",
        CONTROL,
        "WHERE edition_id = %(edition)s AND {NOT_OVER} AND state IN\n",
        "WHERE false AND {NOT_OVER} AND state IN\n",
        f"{FIRST}test_a_call_that_was_put_off_is_no_judgement",
    ),
    guard(
        "the rest stays where it is while its edition does not run",
        CONTROL,
        "WHERE id = %(edition)s AND probing AND control = 'running')",
        "WHERE id = %(edition)s AND probing)",
        f"{FIRST}test_while_the_edition_is_paused_no_other_takes_its_turn",
    ),
    guard(
        "a hold outlives a pause",
        CONTROL,
        "due_at = greatest(clock_timestamp(),\n"
        "                                     (SELECT held_until FROM edition WHERE id = "
        "%(edition)s))",
        "due_at = clock_timestamp()",
        f"{PAUSING}test_one_that_is_held_may_be_paused_and_keeps_its_hold",
    ),
    guard(
        "only what is held and runs is sent now",
        CONTROL,
        "WHERE id = %s AND control = 'running' AND held_until > clock_timestamp()",
        "WHERE id = %s",
        f"{HOLD}test_sending_now_what_is_paused_or_not_held_changes_nothing",
    ),
    # --- Ending -----------------------------------------------------------------------------------
    guard(
        "nothing is called back once the hold is over",
        CONTROL,
        "if cursor.fetchone() != (True,):",
        "if cursor.fetchone() is None:",
        f"{HOLD}test_once_the_hold_is_over_it_is_too_late_to_call_back",
    ),
    guard(
        "nothing is called back of which a call has started",
        CONTROL,
        "if cursor.fetchone() == (True,):\n                raise _TooLateError",
        "if cursor.fetchone() == ():\n                raise _TooLateError",
        f"{HOLD}test_where_a_call_started_all_the_same_nothing_is_called_back",
    ),
    guard(
        "a cancel takes claimed batches out of their workers' hands",
        CONTROL,
        "    _pause_batches(cursor, edition)\n    set_marked_aside",
        "    set_marked_aside",
        f"{CANCELLING}test_a_batch_that_was_claimed_before_it_does_not_start",
    ),
    guard(
        "a marked copy is asked about and not withdrawn by a cancel",
        CONTROL,
        "    set_marked_aside(cursor, edition)\n",
        "",
        f"{CANCELLING}test_a_copy_that_bears_a_mark_of_having_been_sent_is_asked_about_not_"
        "withdrawn",
    ),
    guard(
        "what has ended is not cancelled",
        CONTROL,
        "    if cursor.rowcount == 0:\n        return None\n    _pause_batches",
        "    _pause_batches",
        f"{CANCELLING}test_it_is_for_good",
    ),
    guard(
        "the withdrawn are counted exactly, or nothing is done",
        WITHDRAW,
        "if counted != withdrawn:",
        "if False:",
        f"{CANCELLING}test_counts_that_differ_from_the_rows_undo_it",
    ),
    guard(
        "what is in doubt is not withdrawn with what waits",
        WITHDRAW,
        "WHERE delivery.batch_id = emptied.id AND delivery.outcome = 'waiting'",
        "WHERE delivery.batch_id = emptied.id",
        f"{CANCELLING}test_what_is_in_doubt_is_still_asked_about_and_counted_as_sent_if_found",
        f"{CANCELLING}test_the_rest_is_withdrawn_and_the_number_reached_is_exact",
    ),
    guard(
        "what evidence brings back into line of a cancelled edition is withdrawn",
        WITHDRAW,
        'if cursor.fetchone() == ("cancelled",):',
        "if cursor.fetchone() is None:",
        f"{EVIDENCE}test_of_a_cancelled_edition_what_waits_beside_the_doubt_never_goes",
    ),
    guard(
        "nothing is closed while something waits or is asked about",
        CONTROL,
        "AND state NOT IN ('done', 'parked'))",
        "AND false)",
        f"{CLOSING}test_what_still_waits_or_is_asked_about_cannot_be_closed",
    ),
    guard(
        "what has ended is not closed",
        CONTROL,
        "WHERE id = %(edition)s AND control IN ('running', 'paused', 'stopped')",
        "WHERE id = %(edition)s AND control <> 'cancelled'",
        f"{CLOSING}test_what_has_ended_is_not_closed_again",
    ),
    # --- Sending again ----------------------------------------------------------------------------
    guard(
        "of an edition that has ended nobody is sent to again",
        CONTROL,
        f"            return None\n{MISSED_BEGIN}",
        f"            pass\n{MISSED_BEGIN}",
        f"{CLOSING}test_a_person_accepts_who_was_missed",
    ),
    guard(
        "a refused address is not among the missed",
        CONTROL,
        MISSED_COPIES,
        "delivery.outcome = 'failed'\n",
        f"{MISSED}test_they_and_nobody_else_get_their_copy",
    ),
    guard(
        "what bears a time is not among the missed",
        CONTROL,
        "AND delivery.sent_at IS NULL AND delivery.provider_message_id IS NULL",
        "AND delivery.provider_message_id IS NULL",
        f"{MISSED}test_the_statement_leaves_out_what_bears_a_mark_of_having_been_sent",
    ),
    guard(
        "what bears a provider's id is not among the missed",
        CONTROL,
        "AND delivery.sent_at IS NULL AND delivery.provider_message_id IS NULL",
        "AND delivery.sent_at IS NULL",
        f"{MISSED}test_the_statement_leaves_out_what_bears_a_mark_of_having_been_sent",
    ),
    guard(
        "the missed wait while their edition is held back",
        CONTROL,
        "CASE WHEN %(running)s THEN 'ready' ELSE 'paused' END, 0, clock_timestamp(),",
        "CASE WHEN %(running)s THEN 'ready' ELSE 'ready' END, 0, clock_timestamp(),",
        f"{MISSED}test_they_are_cut_into_batches_and_wait_while_the_edition_is_paused",
    ),
    guard(
        "doubt about a closed edition is not asked about again",
        CONTROL,
        'if lock_edition(cursor, edition) == "closed":',
        'if lock_edition(cursor, edition) == "":',
        f"{PERSON}test_closed_it_stays_counted_as_doubt",
    ),
    guard(
        "only doubt that was left to a person is asked about again",
        CONTROL,
        "WHERE edition_id = %s AND {NOT_OVER} AND state = 'parked'",
        "WHERE edition_id = %s AND {NOT_OVER} AND state IN ('parked', 'unknown')",
        f"{PERSON}test_doubt_that_is_still_asked_about_is_not_for_a_person",
    ),
    guard(
        "only doubt that was left to a person is sent again",
        CONTROL,
        "AND {NOT_OVER} AND state = 'parked'\n                  AND NOT EXISTS",
        "AND {NOT_OVER} AND state IN ('parked', 'unknown')\n                  AND NOT EXISTS",
        f"{PERSON}test_doubt_that_is_still_asked_about_is_not_for_a_person",
    ),
    guard(
        "doubt that bears a mark is sent again by no decision",
        CONTROL,
        "AND delivery.outcome = 'unknown' AND {BEARS_A_MARK})",
        "AND delivery.outcome = 'never' AND {BEARS_A_MARK})",
        f"{PERSON}test_what_bears_a_mark_is_not_sent_again_by_any_decision",
    ),
    guard(
        "doubt about an edition that has ended is not sent again",
        CONTROL,
        f"            return None\n{DOUBT_BEGIN}",
        f"            pass\n{DOUBT_BEGIN}",
        f"{PERSON}test_closed_it_is_not_sent_again",
    ),
]
