"""Guards of settling and recovery: the right worker settles once and in full."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- Settling ---
a settlement checks the claim's epoch
    settle_batch: WHERE id = p_batch AND state = p_was «AND epoch = p_epoch»
    test_an_earlier_epoch_does_not_settle_a_later_call
a settlement checks the batch's state
    settle_batch: WHERE id = p_batch «AND state = p_was» AND epoch = p_epoch
    test_stale_worker_cannot_settle_a_recovered_batch
outcomes change only of deliveries that are as the decision saw them
    write_outcomes: if «cursor.rowcount != len(outcomes) → False»:
    test_an_outcome_changed_in_sql_undoes_the_settlement
accepted deliveries are all written, or none
    write_sent: IF «written <> cardinality(p_recipients) → false» THEN
    test_an_outcome_changed_in_sql_undoes_the_settlement
a settled delivery keeps its outcome
    write_outcomes: WHERE batch_id = %s AND «outcome = %s → (outcome = %s OR true)» AND
    test_an_outcome_changed_in_sql_undoes_the_settlement
a late acceptance leaves a settled delivery as it is
    write_sent: recipient_id = accepted.recipient «AND outcome = p_old»;
    test_an_outcome_changed_in_sql_undoes_the_settlement
only the batch's own deliveries are written
    why: Without the batch's number too many rows are written, which their count shows.
    write_sent: WHERE «batch_id = p_batch AND» recipient_id = accepted.recipient
    write_sent: IF «written <> cardinality(p_recipients) → false» THEN
    test_the_same_readers_copy_of_another_issue_is_not_touched
an unconfirmed delivery keeps its provider's id
    write_outcomes: THEN «provider_message_id → NULL» END
    test_id_without_time_is_never_resent_automatically
a late answer is kept as evidence
    _keep_as_evidence: «record_acceptances(cursor, claim.edition, attempt, late,
        Evidence.Source.REPLY) → 0»
    test_stale_worker_answer_becomes_evidence
a late answer is kept as evidence although the next batch was claimed
    settle_call_and_claim: if «row[0] is None → False»:
    test_late_settlement_with_a_claim_becomes_evidence
a late answer settles the unconfirmed copy at once
    _keep_as_evidence: «settle_by_evidence(cursor, claim.edition, [recipient for recipient, _ in
        late]) → pass»
    test_late_answer_settles_unknown_copies_at_once
a settlement uses evidence that arrived meanwhile
    _settle.settle_in: unapplied «= unapplied_evidence(cursor, claim.batch) → : list[int] = []»
    test_evidence_counts_more_than_the_answer
an accepted batch with evidence is settled under the edition's lock
    settle_batch: IF p_alone AND (is_probing «OR has_evidence AND EXISTS (SELECT FROM
        unapplied_evidence_1(p_batch))») THEN
    test_reply_with_another_id_is_a_second_copy
a settlement looks for evidence only after it has locked its batch
    why: The look is moved before the statement that locks the batch.
    settle_batch: BEGIN «→ has_evidence := EXISTS (SELECT FROM evidence);» UPDATE batch SET
        state
    settle_batch: SELECT probing, «EXISTS (SELECT FROM evidence WHERE evidence.issue_id =
        edition.issue_id AND evidence.version = edition.version OFFSET 0) → has_evidence» INTO
    test_settlement_sees_evidence_that_it_waited_for
an accepted batch of a probe is settled under the edition's lock
    settle_batch: IF p_alone AND («is_probing OR» has_evidence AND EXISTS
    test_batch_in_flight_at_resume_passes_the_probe_on
a second copy that a look-up finds is kept and raises its alarm
    _count_found: «record_acceptances(cursor, claim.edition, claim.attempt, again,
        Evidence.Source.LOOKUP) → len(again)»
    test_two_copies_that_a_look_up_finds_are_an_alarm
a look-up's result is credited to its attempt
    _count_found: if «claim.attempt is not None → False»:
    test_only_absent_copies_of_a_partial_call_are_resent
requeued copies check the edition's state under its lock
    _settle: settle_in, lock_first=«lock_first → False»
    test_a_call_deferred_during_a_pause_returns_paused
postponed copies of a held-back edition wait with the rest
    _state_after: return "ready" «if control == "running" else "paused"»
    test_a_call_deferred_during_a_pause_returns_paused
unaccepted copies of a cancelled edition are withdrawn, not retried
    _change_deliveries: if control == "«cancelled → never»":
    test_unaccepted_copies_of_a_cancelled_edition_are_withdrawn
a marked copy of a cancelled edition is looked up and not withdrawn
    _change_deliveries: «quarantine_marked(cursor, claim.edition, batch=claim.batch) → pass»
    test_copy_marked_during_its_call_is_looked_up
a refused address gets no more mail
    _change_deliveries: if «refused → False»:
    test_a_refused_address_fails_and_its_reader_is_marked_bounced
a fault of the account stops the edition
    _change_edition: «stop(cursor, claim.edition, settlement.stop_edition) → pass»
    test_account_fault_stops_the_edition_without_using_tries
a look-up's result does not show that the account works
    _change_edition: elif claim.probing «and not looked_up» and _was_judged(settlement):
    test_a_look_up_does_not_end_the_probe
a postponed call does not show that the account works
    _change_edition: elif claim.probing and not looked_up «and _was_judged(settlement)»:
    test_a_deferred_call_does_not_end_the_probe
if all readers of the first batch have left, the next batch goes first
    start: «pass_probe_on(cursor, claim.edition) → pass» return []
    test_an_empty_first_batch_does_not_end_the_probe
if the first batch is parked, the next one goes first
    _requeue: «pass_probe_on(cursor, held.edition) → pass»
    test_parked_probe_releases_the_rest
look-ups count from the time when the copy became unconfirmed
    settle_batch: END «+ make_interval(secs => p_lookup_after_s)»
    test_accepted_call_without_answer_is_found_once
an inconclusive look-up leaves the copy unconfirmed
    settle_batch: unknown_since = CASE WHEN p_newly_unknown THEN clock_timestamp() WHEN p_looks_up
        OR p_state = 'parked' THEN «unknown_since → clock_timestamp()» END
    test_absent_call_is_resent_after_the_last_look_up

# --- Reaping leases ---
a current lease is left alone
    why: The reaper checks the lease when it searches for lost batches, and again in the
        statement that recovers one.
    _load_held: AND CASE WHEN %(dead)s::uuid IS NULL THEN «lease_until <= clock_timestamp() → true»
    _STILL_HELD: AND («lease_until <= clock_timestamp() OR owner = %(dead)s → true»)
    test_batch_with_a_valid_lease_is_not_recovered
only the batches of the dead worker are recovered before their leases expire
    why: The reaper names the worker when it searches for lost batches, and again in the
        statement that recovers one.
    _load_held: ELSE «owner = %(dead)s → true» END
    _STILL_HELD: AND («lease_until <= clock_timestamp() OR owner = %(dead)s → true»)
    test_a_dead_workers_claim_is_released_at_once
the reaper checks the epoch that it saw
    why: A batch claimed anew has a current lease.
    _STILL_HELD: AND «epoch = %(epoch)s → (%(epoch)s IS NOT NULL)» AND («lease_until <=
        clock_timestamp() OR owner = %(dead)s → true»)
    test_sweep_skips_a_batch_claimed_meanwhile
the reaper checks the state that it saw
    why: A settled or returned batch has no lease and no owner.
    _STILL_HELD: AND «state = %(was)s → (%(was)s IS NOT NULL)» AND epoch = %(epoch)s AND
        («lease_until <= clock_timestamp() OR owner = %(dead)s → true»)
    test_batch_released_during_a_sweep_counts_no_crash
a call that its worker settled meanwhile is no crash
    _make_unknown: lost_id = batch.id AND «{_STILL_HELD} → batch.id = %(batch)s»
    test_call_settled_during_a_sweep_counts_no_crash
the reaper uses evidence that arrived after the worker was lost
    _recover: unapplied «= unapplied_evidence(cursor, held.batch) → : list[int] = []»
    test_lease_reaper_applies_evidence_of_a_crashed_worker
copies of a lost worker wait with the rest while their edition is held back
    _requeue: "ready" «if control == "running" else "paused"»
    test_recovered_batch_of_a_paused_edition_is_paused
silence about a lost call counts from its deadline
    _make_unknown: coalesce(«deadline_at → started_at», lease_until) AS since
    test_silence_about_a_lost_call_counts_from_its_deadline
a lost call that may have left is not sent again before a look-up
    _recover: (held.state == "sending" and «is_unsent → True»):
    test_a_dead_workers_other_calls_are_unknown
only a call is repeated as unsent, not its look-up
    _recover: («held.state == "sending" and» is_unsent):
    test_a_dead_workers_look_up_is_repeated
unsent copies of a cancelled edition are withdrawn, not sent
    _requeue: if «control == "cancelled" → False»:
    test_unsent_copies_of_a_cancelled_edition_are_withdrawn
a worker lost before its call counts against the batch
    _requeue: attempt = NULL«, crashes = crashes + 1», reason
    test_copy_that_crashes_workers_is_found_by_halving_and_parked
a worker lost during its call counts against the batch
    _make_unknown: «crashes = crashes + 1,» lookups = 0,
    test_a_copy_that_kills_workers_mid_call_is_parked
a batch that cost two workers is halved
    _requeue: «halve(cursor, held.batch, held.edition) → pass»
    test_copy_that_crashes_workers_is_found_by_halving_and_parked
halves start without the crashes of the whole
    halve: «Batch.objects.filter(pk=batch).update(crashes=0) → pass»
    test_a_crashing_batch_is_shown_from_its_first_crash
one batch that cannot be recovered does not block the others
    _try_to_recover: except «DatabaseError → ZeroDivisionError» as error:
    test_failing_recovery_does_not_block_others
a fault of the database is left to its reporter
    _try_to_recover: if «stops_all_writes(error) → False»:
    test_a_fault_of_the_database_is_left_to_its_reporter

# --- Lists of unsent calls ---
a list counts only once its process has ended
    find_dead_workers: «fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB) → pass»
    test_list_is_read_once_its_process_is_dead
a process holds the lock on its list
    _create: «fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB) → pass»
    test_list_is_read_once_its_process_is_dead
a list of an earlier boot is not believed
    find_dead_workers: if «content[:_HEADER_BYTES] != _header() → False»:
    test_list_of_an_earlier_boot_is_not_believed
a list in a folder that others may change is not believed
    _folder: or found.st_mode & «0o022 → 0»:
    test_without_a_private_folder_nothing_is_listed
a worker without a list of unsent calls reports it
    UnsentCalls._note: self.problem = «problem → None»
    test_without_a_private_folder_nothing_is_listed
a request that is about to be complete is not listed
    UnsentCall.remove: «os.pwrite(self._file, _NOT_LISTED, self._offset + _ATTEMPT_BYTES) → pass»
    test_list_is_read_once_its_process_is_dead
every call announces its last piece to the list
    Dispatcher.send: about_to_complete=«self._unsent.remove → lambda: None»,
    test_accepted_call_of_a_killed_worker_is_found_at_once
a batch that crashes workers is shown and counted from its first crash
    _requeue: crashes = crashes + 1«, reason = %(reason)s» WHERE
    test_a_crashing_batch_is_shown_from_its_first_crash
workers that crash in a row raise an alarm
    _raise_if_repeated: if «crashes >= CRASHES_BEFORE_SUSPICION → False»:
    test_a_batch_that_raises_while_rendering_is_shown
    test_workers_that_crash_in_calls_raise_one_alarm
""")
