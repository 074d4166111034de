"""Guards of claims and call starts: one worker, first a record, then a last check."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- Claiming ---
one of two workers that claim at once gets the batch
    claim_batch: ORDER BY position, id LIMIT 1 «FOR UPDATE SKIP LOCKED»
    test_racing_workers_never_share_a_batch
a batch that another worker is claiming is skipped, not waited for
    claim_batch: ORDER BY position, id LIMIT 1 FOR UPDATE «SKIP LOCKED → NOWAIT»
    test_batch_being_claimed_by_another_worker_is_skipped
only a batch that is ready is claimed for a call
    claim_batch: WHERE state «= 'ready' → IN ('ready', 'claimed')» AND due_at <= clock_timestamp()
    test_a_claimed_batch_is_not_given_to_a_second_worker
nothing is claimed before it is due
    claim_batch: WHERE state = 'ready' «AND due_at <= clock_timestamp()» AND NOT
    test_nothing_is_claimed_before_the_hold_ends
a claim reads only the head of the queue, however long it is
    sql: DROP INDEX batch_open; CREATE INDEX batch_open ON batch
        (edition_id) WHERE state <> 'done' OR missed > 0
    test_a_call_reads_as_many_batches_however_many_wait
a claim raises the epoch
    claim_batch: UPDATE batch SET state = 'claimed'«, epoch = epoch + 1»,
    test_lost_claim_cannot_be_released
    test_worker_that_lost_its_claim_starts_no_call
a claim for a look-up raises the epoch
    claim_lookup: UPDATE batch SET state = 'looking_up'«, epoch = epoch + 1»,
    test_a_look_up_that_lost_its_claim_changes_nothing
one of two workers looks up an unconfirmed batch
    claim_lookup: ORDER BY due_at, id LIMIT 1 «FOR UPDATE SKIP LOCKED»
    test_workers_that_race_for_look_ups_get_one_each
an unconfirmed batch that another worker claims is skipped, not waited for
    claim_lookup: ORDER BY due_at, id LIMIT 1 FOR UPDATE «SKIP LOCKED → NOWAIT»
    test_locked_unknown_batch_is_skipped
no look-up begins before it is due
    claim_lookup: WHERE state = 'unknown' «AND due_at <= clock_timestamp()»
    test_accepted_call_without_answer_is_found_once
a batch is given back only under the claim's epoch
    release: filter(pk=claim.batch, state=Batch.State.CLAIMED«, epoch=claim.epoch»)
    test_lost_claim_cannot_be_released
a batch with a recorded call is not given back as unused
    release: filter(pk=claim.batch«, state=Batch.State.CLAIMED», epoch=claim.epoch)
    test_a_batch_with_a_recorded_call_cannot_be_released

# --- Starting ---
a start checks the claim's epoch
    start_batch: state = 'claimed' «AND epoch = p_epoch» AND lease_until > clock_timestamp()
    test_worker_that_lost_its_claim_starts_no_call
a start checks the claim's lease
    start_batch: state = 'claimed' AND epoch = p_epoch «AND lease_until > clock_timestamp()»
    test_a_worker_whose_lease_has_ended_starts_no_call
a start checks the batch's state
    why: A pause ends the lease and the state, so the lease alone would show it. And a
        held-back edition starts nothing, whatever the state of its batch.
    start_batch: AND «state = 'claimed' AND epoch = p_epoch AND lease_until > clock_timestamp() →
        epoch = p_epoch»
    start_batch: is_started := «of_control = 'running' AND» of_kind
    start: if «control != "running" → False»:
    test_a_batch_claimed_before_a_pause_does_not_start
    test_a_batch_claimed_before_a_cancel_does_not_start
a start waits for a concurrent change of its batch
    start_batch: AND lease_until > clock_timestamp() «FOR NO KEY UPDATE»;
    test_start_waits_for_a_concurrent_pause
a call holds its batch for the deadline plus the lease
    start_batch: make_interval(secs => «p_deadline_s +» p_lease_s)
    test_started_call_extends_the_lease_past_its_deadline
the worker reads its deadline before it records the start of the call
    Dispatcher.send: phases.end(Phase.START) «→ ¶deadline_at_s = now_s() +
        settings.DELIVERY_HTTP_DEADLINE_S»
    test_deadline_includes_the_time_to_record_the_start
the attempt is recorded before the call
    start_batch: IF is_started «→ AND false» THEN PERFORM record_attempt_1
    test_an_attempt_is_committed_before_a_call
the attempt of a call that needs the edition's lock is recorded too
    start: «call_function(cursor, "record_attempt_1", edition=claim.edition,
        messages=len(recipients), **values) → pass»
    test_a_reader_unsubscribed_after_publishing_counts_as_withdrawn
the attempt's record is committed before the first byte is sent
    Dispatcher.send: now_s() + settings.DELIVERY_HTTP_DEADLINE_S «→ ¶self._provider.send(body,
        [row[1] for row in rows], deadline_at_s=deadline_at_s)»
    test_an_attempt_is_committed_before_a_call
transactions of the queue are outermost
    short_transaction: transaction.atomic(«durable=not _is_joined.get()»), connection
    test_transaction_of_the_queue_cannot_be_nested
a function of the queue is its own transaction
    call_alone: if «connection.in_atomic_block and not _is_joined.get() → False»:
    test_call_cannot_start_inside_another_transaction
a worker that freezes in a transaction does not keep its rows locked
    short_transaction: «cursor.execute → str»(f"SET LOCAL idle_in_transaction_session_timeout
    test_server_ends_an_idle_transaction
a call contains only copies that pass the last check
    Dispatcher.send: if «recipients != [row[0] for row in rows] → False»:
    test_a_reader_unsubscribed_after_publishing_counts_as_withdrawn
consent is checked again when a call starts
    start_batch: FROM readers_who_get_no_copy_1(unmarked, of_kind, of_tags) «→ WHERE false»;
    test_a_reader_unsubscribed_after_publishing_counts_as_withdrawn
no call starts before readers who left are settled
    start_batch: AND of_kind NOT IN ('test', 'invitation') AND marked IS NULL «AND gone IS NULL»
        AND unmarked
    test_a_reader_unsubscribed_after_publishing_counts_as_withdrawn
no test starts before its address is checked
    start_batch: is_started := of_control = 'running' «AND of_kind NOT IN ('test', 'invitation')»
        AND marked IS NULL
    test_suppressed_address_gets_no_test_and_page_explains_it
    test_queued_test_is_not_sent_to_an_erased_reader
a batch without waiting copies starts no call
    start_batch: AND gone IS NULL «AND unmarked IS NOT NULL»;
    test_batch_without_waiting_copies_starts_no_call
a batch queued while its edition is held back starts no call
    start_batch: is_started := «of_control = 'running' AND» of_kind
    test_a_request_to_a_paused_edition_waits_without_a_call
a reader who unsubscribed gets nothing
    readers_who_get_no_copy: OR subscriber.state IN («'unsubscribed',» 'bounced', 'complained')
    test_unsubscribed_is_withdrawn_and_bounced_or_complained_is_suppressed
a reader who bounced or complained gets nothing
    readers_who_get_no_copy: OR subscriber.state IN ('unsubscribed'«, 'bounced', 'complained'»)
    test_unsubscribed_is_withdrawn_and_bounced_or_complained_is_suppressed
a suppressed address gets nothing
    readers_who_get_no_copy: subscriber.email_key AND «lifted_at IS NULL → false» OFFSET 0) OR
        (p_tags
    test_a_suppressed_address_is_suppressed_unless_unsubscribed
a reader who left the topics of an issue gets no copy
    readers_who_get_no_copy: OR «(p_tags IS NOT NULL AND subscriber.left_topics && p_tags AND NOT
        subscriber.tags && p_tags) → false»; ELSIF
    test_a_reader_who_left_the_topic_gets_no_copy
an author's change of tags withdraws nobody
    readers_who_get_no_copy: p_tags IS NOT NULL «AND subscriber.left_topics && p_tags» AND NOT
        subscriber.tags
    test_a_reader_who_left_the_topic_gets_no_copy
a reader who left one topic of two gets the copy
    readers_who_get_no_copy: subscriber.left_topics && p_tags «AND NOT subscriber.tags && p_tags»
    test_a_reader_who_left_the_topic_gets_no_copy
an erased reader gets nothing
    readers_who_get_no_copy: WHERE «subscriber.id IS NULL OR» subscriber.state
    test_delivery_hooks::test_an_unknown_recipient_is_withdrawn

# --- Marks of an earlier sending ---
a copy that may have been sent before is not sent with the others
    start_batch: FILTER (WHERE «NOT is_marked → true»)
    test_mark_without_evidence_is_looked_up_first
no call starts before marked copies are set aside
    start_batch: AND of_kind NOT IN ('test', 'invitation') «AND marked IS NULL» AND gone IS NULL
    test_mark_without_evidence_is_looked_up_first
a provider's id marks a copy as sent before
    start_batch: OR «provider_message_id IS NOT NULL OR» sent_at IS NOT NULL OR (has_evidence
    test_id_without_time_is_never_resent_automatically
a time marks a copy as sent before
    start_batch: provider_message_id IS NOT NULL OR «sent_at IS NOT NULL OR» (has_evidence
    test_mark_without_evidence_is_looked_up_first
evidence marks a copy as sent before
    start_batch: OR (has_evidence AND «→ NOT» EXISTS
    test_a_recorded_acceptance_settles_a_copy_without_an_alarm
an edition with evidence is recognised when a call starts
    start_batch: has_evidence := «→ NOT» EXISTS
    test_a_recorded_acceptance_settles_a_copy_without_an_alarm
an unconfirmed copy in a batch to be sent is looked up first
    start_batch: «outcome = 'unknown' OR» provider_message_id IS NOT NULL
    test_unknown_copy_in_a_queued_batch_is_looked_up
an unconfirmed copy that was put into a batch is found
    start_batch: outcome IN ('waiting'«, 'unknown'»)
    test_unknown_copy_in_a_queued_batch_is_looked_up
a mark without evidence raises an alarm
    quarantine: «_raise_alarms(cursor, batch, edition, marked)»
    test_mark_without_evidence_is_looked_up_first
    test_a_marked_copy_is_looked_up_and_not_withdrawn
a recorded acceptance raises no alarm about a mark
    _raise_alarms: «AND NOT {_IS_PROVED}»
    test_a_recorded_acceptance_settles_a_copy_without_an_alarm
a copy with a provider's id is never resent automatically
    look_up: «and not context.has_provider_id»
    test_id_without_time_is_never_resent_automatically

# --- The edition's lock ---
requeueing batches takes the edition's lock
    lock_edition: WHERE id = %s «FOR NO KEY UPDATE»
    test_decisions_hold_the_edition_lock
a stop and a start cannot deadlock
    lock_edition: WHERE id = %s FOR «NO KEY» UPDATE
    test_stop_and_start_do_not_deadlock
a batch's counts match the deliveries moved into it
    split_off: if «moved != len(recipients) → False»:
    test_only_waiting_copies_can_be_split_off
""")
