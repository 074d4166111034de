"""Guards of what is written down: by its holder, once, in full; and of what lost workers held."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- Settling ---
a settle repeats the claim's epoch
    _CHANGE_BATCH: WHERE id = %(batch)s AND state = %(was)s «AND epoch = %(epoch)s»
    test_an_earlier_epoch_does_not_settle_a_later_call
a settle repeats the batch's state
    _CHANGE_BATCH: WHERE id = %(batch)s «AND state = %(was)s» AND epoch = %(epoch)s
    test_a_stale_worker_does_not_settle_what_was_swept
outcomes change only of deliveries that are as the decision saw them
    write_outcomes: if «written != len(outcomes) → False»:
    test_an_outcome_changed_past_all_code_undoes_the_settlement
a delivery that was settled keeps its outcome
    _AS_THE_DECISION_SAW_IT: WHERE batch_id = %s AND «outcome = %s → (outcome = %s OR true)» AND
    test_an_outcome_changed_past_all_code_undoes_the_settlement
doubt keeps the provider's id that a delivery bears
    _write_others: THEN «provider_message_id → NULL» END
    test_an_id_without_a_time_is_never_sent_again_by_itself
an answer that comes too late is kept as evidence
    settle_call: «record_acceptances(cursor, claim.edition, attempt, late, Evidence.Source.REPLY) →
        0»
    test_the_answer_that_a_stale_worker_brings_is_kept_as_evidence
an answer that comes too late ends the doubt at once
    settle_call: «settle_by_evidence(cursor, claim.edition, [recipient for recipient, _ in late]) →
        pass»
    test_an_answer_after_a_lost_claim_ends_the_doubt_at_once
a settle heeds the evidence that came meanwhile
    _settle.settle_in: unapplied «= unapplied_evidence(cursor, claim.batch) → : list[int] = []»
    test_evidence_counts_more_than_the_answer
a second copy that a look-up finds is kept and raises its alarm
    settle_lookup.count_found: «record_acceptances(cursor, claim.edition, claim.attempt,
        again, Evidence.Source.LOOKUP) → len(again)»
    test_two_copies_that_a_look_up_finds_are_an_alarm
what a look-up finds is credited to its attempt
    settle_lookup.count_found: if «claim.attempt is not None → False»:
    test_only_the_rest_of_a_call_accepted_in_part_goes_again
what comes back into line asks under the edition's lock how it stands
    _settle: settle_in, lock_first=«lock_first → False»
    test_a_call_put_off_during_a_pause_comes_back_paused
what is put off while its edition is held back waits with the rest
    _change_batch: state = "ready" «if control == "running" else "paused"»
    test_a_call_put_off_during_a_pause_comes_back_paused
what a call did not bring out of a cancelled edition is withdrawn, not tried again
    _change_deliveries: if control == "«cancelled → never»":
    test_what_a_call_did_not_bring_out_never_goes
a marked copy of a cancelled edition is asked about and not withdrawn
    _change_deliveries: «quarantine_marked(cursor, claim.edition, batch=claim.batch) → pass»
    test_a_copy_marked_during_its_call_is_asked_about_not_withdrawn
a refused address is mailed no more
    _change_deliveries: if «refused → False»:
    test_a_refused_address_fails_and_its_reader_is_marked_bounced
a fault of the account stops the edition
    _change_edition: «stop(cursor, claim.edition, settlement.stop_edition) → pass»
    test_the_edition_stops_at_once_says_what_to_set_right_and_burns_no_tries
what a look-up finds is no judgement about the account
    _change_edition: elif claim.probing «and not looked_up» and _was_judged(settlement):
    test_a_look_up_is_no_judgement_of_the_account
a call that was put off is no judgement about the account
    _change_edition: elif claim.probing and not looked_up «and _was_judged(settlement)»:
    test_a_call_that_was_put_off_is_no_judgement
the next goes first where everybody in the first batch had left
    start.start_in: «pass_probe_on(cursor, claim.edition) → pass» return []
    test_an_empty_first_batch_is_no_judgement
the next goes first where the first batch was parked
    _recover_claimed: «pass_probe_on(cursor, lease.edition) → pass»
    test_after_a_parked_first_batch_the_rest_goes_on
look-ups of the schedule count from the beginning of the doubt
    _CHANGE_BATCH: «{_SINCE} + make_interval(secs => %(lookup_after)s) → clock_timestamp()»
    test_what_was_accepted_unheard_is_found_and_sent_once
doubt is not forgotten by a look-up that proves nothing
    _SINCE: WHEN %(asks)s OR %(state)s = 'parked' THEN «unknown_since → clock_timestamp()» END
    test_a_call_not_accepted_is_sent_again_after_the_last_look_up

# --- Sweeping ---
a lease that still runs is left alone
    why: The sweep looks at the lease when it looks for lost batches, and again in the statement
        that brings one back.
    _load_expired: «AND lease_until <= clock_timestamp()» AND id
    _EXPIRED: id = %s AND state = %s AND epoch = %s «AND lease_until <= clock_timestamp()»
    test_a_lease_that_still_runs_is_left_alone
a sweep repeats the epoch that it saw
    why: What was claimed anew has a lease that still runs.
    _EXPIRED: = %s AND «epoch = %s AND lease_until <= clock_timestamp() → (epoch = %s OR true)»
    test_what_was_claimed_anew_while_the_sweep_looks_is_left_alone
a sweep repeats the state that it saw
    why: What was settled or given back has no lease any more.
    _EXPIRED: «→ (» state = %s «→ OR true)» AND epoch = %s «AND lease_until <= clock_timestamp()»
    test_what_was_given_back_while_the_sweep_looks_is_no_crash
a call that its worker settled meanwhile is no crash
    _recover_sending: expired_id = batch.id AND «{_EXPIRED} → batch.id = %s AND %s::text IS NOT
        NULL AND %s::bigint IS NOT NULL»
    test_a_call_settled_while_the_sweep_looks_is_no_crash
a sweep heeds the evidence that came while the worker was lost
    _recover: unapplied «= unapplied_evidence(cursor, lease.batch) → : list[int] = []»
    test_what_came_while_a_worker_was_lost_is_heeded_by_the_sweep
what comes back from a lost worker waits with the rest while its edition is held back
    _recover_claimed: "ready" «if control == "running" else "paused"»
    test_lost_batch_of_a_paused_edition_comes_back_paused
a lost call is looked up from its deadline on, not before
    _recover_sending: coalesce(«deadline_at → started_at», lease_until) AS since
    test_a_lost_call_is_looked_up_from_its_deadline_on
the first look-up after a lost call has its quiet period
    _recover_sending: greatest(clock_timestamp(), since + «→ 0 *» make_interval(secs => %s)),
    test_a_lost_call_is_looked_up_from_its_deadline_on
a worker that was lost before its call counts against the batch
    _recover_claimed: owner = NULL, lease_until = NULL«, crashes = crashes + 1» WHERE
    test_a_poisonous_delivery_is_found_by_halving_and_parked_alone
a worker that was lost during its call counts against the batch
    _recover_sending: «crashes = crashes + 1,» lookups = 0,
    test_a_copy_that_kills_workers_mid_call_is_parked
a batch that cost two workers is halved
    _recover_claimed: «halve(cursor, lease.batch, lease.edition) → pass»
    test_a_poisonous_delivery_is_found_by_halving_and_parked_alone
halves start without the crashes of the whole
    halve: «cursor.execute("UPDATE batch SET crashes = 0 WHERE id = %s", [batch]) → pass»
    test_halves_start_without_the_crashes_of_the_whole
one batch that cannot be brought back keeps no other from coming back
    _try_to_recover: except «DatabaseError → ZeroDivisionError»:
    test_a_batch_that_cannot_be_brought_back_holds_up_no_other
""")
