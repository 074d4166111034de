"""Guards of decisions and faults: a pause stops new calls, and an end is final."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- Holding back ---
a pause takes claimed batches away from their workers
    pause_batches: filter(state__in=["ready"«, "claimed"»])
    test_a_batch_claimed_before_a_pause_does_not_start
    test_a_batch_claimed_before_the_stop_starts_no_call
a stopped edition does not hold back another
    pause_batches: «open_batches(edition) → Batch.objects».filter
    test_other_editions_continue_while_one_is_stopped
only a running edition is paused
    pause_automatically: "paused", «"control = 'running'" → "true"», reason
    test_only_running_editions_can_be_paused
a stop does not change an ended edition
    stop: "stopped", «_HAS_NOT_ENDED → "true"», reason
    test_second_copy_after_the_end_only_raises_an_alarm
only a held-back edition is resumed
    resume: if «control not in {"stopped", "paused"} or» found.unreconciled_since is not None:
    test_an_edition_that_is_not_stopped_has_nothing_to_resume
an unreconciled edition is not resumed
    resume: if control not in {"stopped", "paused"} «or found.unreconciled_since is not None»:
    test_an_unreconciled_edition_is_neither_resumed_nor_closed
an unreconciled edition is not closed
    _reconciled: control__in=NOT_ENDED«, unreconciled_since=None»
    test_an_unreconciled_edition_is_neither_resumed_nor_closed
after a fault one batch goes first
    resume: probe = «control == "stopped" or found.probing → False»
    test_resume_sends_one_probe_batch_first
a pause keeps the rule that one batch goes first
    resume: probe = control == "stopped" «or found.probing»
    test_a_pause_and_resume_keep_the_probe
the rest stays behind the first batch while its edition is held back
    end_probe: if cursor.fetchone() «== ("running",)»:
    test_probe_judged_in_a_pause_releases_no_batch
the first batch keeps its turn while it can still proceed automatically
    pass_probe_on: WHERE «edition_id = %(edition)s → false» AND batch_is_open_1(batch) AND state IN
    test_a_deferred_call_does_not_end_the_probe
the rest stays in place while its edition does not run
    pass_probe_on: WHERE id = %(edition)s AND probing «AND control = 'running'»)
    test_no_batch_becomes_the_next_probe_during_a_pause
a hold outlives a pause
    resume: due_at=«Greatest(Now(), found.held_until) → Now()»
    test_a_hold_outlives_a_pause
only a held, running edition is sent now
    why: The test tries an edition of each kind, and either condition refuses the other's.
    send_now: filter(pk=edition«, control=Edition.Control.RUNNING»)
    send_now: held = running«.filter(held_until__gt=Now())»
    test_only_held_running_editions_are_sent_now

# --- Ending ---
nothing is called back after the hold has ended
    call_back: if cursor.fetchone() «!= (True,) → is None»:
    test_call_back_fails_after_the_hold
a batch whose call has started is not called back
    call_back: if «attempts.exists() or unfinished.exists() → False»:
    test_an_issue_cannot_be_called_back_after_a_call
a cancel takes claimed batches away from their workers
    _cancel: «pause_batches(edition)» quarantine_marked
    test_a_batch_claimed_before_a_cancel_does_not_start
a cancel leaves a marked copy to a look-up
    _cancel: «quarantine_marked(cursor, edition)»
    test_a_marked_copy_is_looked_up_and_not_withdrawn
a cancel looks up no copy without a mark
    quarantine_marked: AND «{HAS_SENT_MARK} → true» GROUP BY
    test_a_marked_copy_is_looked_up_and_not_withdrawn
a cancel looks up a copy with a provider's id
    HAS_SENT_MARK: («provider_message_id IS NOT NULL OR» sent_at IS NOT NULL OR
    test_a_marked_copy_is_looked_up_and_not_withdrawn
a cancel looks up a copy with a time
    HAS_SENT_MARK: provider_message_id IS NOT NULL OR «sent_at IS NOT NULL OR» {_IS_PROVED}
    test_a_marked_copy_is_looked_up_and_not_withdrawn
a cancel looks up a copy with a recorded acceptance
    HAS_SENT_MARK: sent_at IS NOT NULL «OR {_IS_PROVED}»)
    test_accepted_waiting_copy_is_not_withdrawn
an ended edition is not cancelled
    _cancel: «if cursor.rowcount == 0: return None» pause_batches
    test_a_cancelled_edition_stays_cancelled
withdrawn copies are counted exactly, or nothing is done
    withdraw_waiting: if «counted != withdrawn → False»:
    test_counts_that_differ_from_the_rows_undo_a_cancel
unconfirmed copies are not withdrawn with queued ones
    withdraw_waiting: WHERE delivery.batch_id = emptied.id «AND delivery.outcome = 'waiting'»
    test_cancelled_edition_still_looks_up_unknown_copies
    test_the_rest_is_withdrawn_and_the_number_reached_is_exact
a copy that evidence requeues is withdrawn if its edition is cancelled
    withdraw_if_cancelled: filter(pk=edition, control=Edition.Control.«CANCELLED → CLOSED»)
    test_waiting_copies_follow_the_edition_after_a_look_up
an edition with queued or unconfirmed copies is not closed
    close: if «open_batches(edition).exclude(state__in=["done", "parked"]).exists() → False»:
    test_an_open_edition_cannot_be_closed
an ended edition is not closed
    _reconciled: control__in=«NOT_ENDED → (*NOT_ENDED, "closed")»
    test_closing_accepts_missed_copies_once

# --- Resending ---
nothing is resent for an ended edition
    send_to_missed: «return None → pass» rows
    test_closing_accepts_missed_copies_once
a refused address is not among the missed
    _WAS_MISSED: delivery.outcome = 'failed' «AND delivery.missed»
    test_send_to_missed_resends_only_missed_copies
a copy with a time is not among the missed
    _WAS_MISSED: «AND delivery.sent_at IS NULL» AND delivery.provider_message_id IS NULL
    test_marked_missed_copies_are_not_sent_again
a copy with a provider's id is not among the missed
    _WAS_MISSED: AND delivery.sent_at IS NULL «AND delivery.provider_message_id IS NULL»
    test_marked_missed_copies_are_not_sent_again
the missed wait while their edition is held back
    send_to_missed: WHEN %(running)s THEN 'ready' ELSE '«paused → ready»' END, clock_timestamp()
    test_missed_copies_wait_in_batches_in_a_pause
unconfirmed copies of a closed edition are not looked up again
    ask_again: if lock_edition(cursor, edition) == "«closed»":
    test_closed_unknown_copies_are_neither_looked_up_nor_resent
only copies that wait for a decision are looked up again
    ask_again: parked = open_batches(edition).filter(«state=Batch.State.PARKED →
        state__in=["parked", "unknown"]»)
    test_copies_in_look_up_need_no_decision
only copies that wait for a decision are resent
    resend_unknown: AND batch_is_open_1(batch) AND state «= 'parked' → IN ('parked', 'unknown')» AND
        NOT EXISTS
    test_copies_in_look_up_need_no_decision
no decision resends an unconfirmed copy with a mark
    resend_unknown: AND delivery.outcome = '«unknown → never»' AND {HAS_SENT_MARK})
    test_marked_unknown_copies_are_never_resent
unconfirmed copies of an ended edition are not resent
    resend_unknown: «return None → pass» cursor.execute(f" WITH again AS (UPDATE
    test_closed_unknown_copies_are_neither_looked_up_nor_resent
""")
