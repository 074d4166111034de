"""Guards of calls and answers: deadlines, no second call, careful reading."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- Calls at the same time ---
the number of calls in flight has a limit
    Worker.__init__: self._slots = CallSlots(«concurrency → self._threads»)
    test_a_batch_claimed_ahead_is_given_back
a slot that becomes free after the stop begins no call
    _wait: while «not is_stopping() → True»:
    test_slot_released_by_the_stop_starts_no_call
while calls hang, a batch is claimed only for a free slot
    Slot.acquire: «slots.is_quick = False → pass» return
    test_timed_out_wait_requires_slots_until_a_quick_call
while calls are slow, a batch is claimed only for a free slot
    CallSlots.record_call: self.is_quick, «seconds <= QUICK_S → True»
    test_a_slow_call_ends_claiming_ahead

# --- The call ---
a call past its deadline does not begin
    Postmark._call: if «now_s() >= deadline_at_s → False»: return NotSent(
    test_expired_call_does_not_connect
no byte is written after the deadline
    Connection._sock_until_deadline: «if remaining <= 0: raise TimeoutError if self.wrote else
        TooLateToStartError» sock: socket.socket = self._http.sock sock.settimeout(«remaining →
        max(1, remaining)»)
    why: a wait may not be negative
    test_no_byte_is_written_if_connecting_took_too_long
each wait for the socket ends at the deadline
    Connection._sock_until_deadline: sock.settimeout(remaining«→ + 3_600»)
    test_the_deadline_ends_an_endless_answer
the provider has no whole request before the last piece is announced
    Connection._send: «about_to_complete()» with suppress(BrokenPipeError):
        self._write(last) «→ ¶about_to_complete()»
    test_killed_before_the_last_piece_leaves_no_request
a call that breaks after the first byte may have been accepted
    Postmark._call: if «not self._connection.wrote → True»:
    test_connection_lost_after_the_first_byte_leaves_the_call_unanswered
an answer that ends before its length does not count
    Connection._read_rest: if not received: «raise http.client.IncompleteRead(b"", missing) → break»
    test_connection_lost_after_the_first_byte_leaves_the_call_unanswered
an answer is never read as the next call's answer
    Connection._read_unusual_answer: is_kept = («response.status in self._kept_after and»
    test_non_200_answer_closes_the_connection
bytes after an answer are never read as the next call's answer
    Connection._read_answer: is_kept = «len(begun) <= length → True»
    test_connection_is_replaced_after_an_answer_that_ends_it
a connection that its server ends is not used again
    Connection._read_unusual_answer: and response.isclosed() «and not response.will_close»
    test_connection_is_replaced_after_an_answer_that_ends_it
unacknowledged bytes do not outlive the deadline
    Connection.__init__: if «hasattr(socket, "TCP_USER_TIMEOUT") → False»:
    test_unacknowledged_bytes_do_not_outlive_the_deadline
bytes that were not sent before the deadline are discarded
    Connection._discard_and_close: «self._http.sock.setsockopt(*_DISCARD_ON_CLOSE) → pass»
    test_the_deadline_discards_a_request_that_nobody_reads

# --- Its answer ---
an answer of another length than the call does not count
    _classify_success: if «len(parsed) != len(addresses) → False»:
    test_200_with_unusable_results_leaves_messages_unanswered
an answer with another address is not this message's
    classify_message: if «isinstance(to, str) and not _names(to, address) → False»:
    test_reordered_results_are_not_mixed_up
one id for two messages is evidence for neither
    _classify_success: times[answer.message_id] > «1 → 1000»
    test_one_id_for_two_messages_is_evidence_for_neither
an empty id is no usual acceptance
    _all_accepted: if «not all(ids) or» len(set(ids))
    test_whole_batch_is_judged_like_each_message
another address is no usual acceptance
    _all_accepted: if unusual «or named != list(addresses)»:
    test_whole_batch_is_judged_like_each_message
a server error leaves unconfirmed what was accepted
    classify_call: if status < 300 «or status >= 500»:
    test_a_server_error_leaves_messages_unanswered
only a 503 with the maintenance code postpones a call
    classify_call: if «status == 503 and» code == MAINTENANCE:
    test_a_server_error_leaves_messages_unanswered
a success answer of a proxy leaves unconfirmed what was accepted
    classify_call: if «status < 300 or» status >= 500:
    test_a_success_other_than_200_leaves_messages_unanswered
an error inside the provider leaves a message unconfirmed
    classify_message: if «code == INTERNAL_ERROR → False»: return Unanswered(
    test_code_101_leaves_the_message_unanswered
an error inside the provider leaves a call unconfirmed
    _classify_refusal: if «code == INTERNAL_ERROR → False»: return Unanswered(
    test_code_101_leaves_messages_unanswered_under_any_status
an acceptance without an id does not count
    classify_message: if «message_id is None or» (code is None
    test_an_acceptance_without_a_usable_id_is_unanswered

# --- What follows ---
a call without an answer is looked up and not resent
    after_call: Settlement(Next.«LOOK_UP → TRY_AGAIN», {«recipient: Unknown() for recipient in
        recipients»}, lookup_after_s
    test_one_result_for_a_whole_call_decides_every_message
a message without an answer is looked up and not resent
    _after_messages: «outcomes[recipient] = Unknown() → put_off[recipient] = reason»
    test_one_result_per_message_decides_each_message
a too large call is sent in halves
    after_call: Settlement(Next.«HALVE → TRY_AGAIN», reason=reason)
    test_a_call_that_is_too_large_is_halved
messages that the provider did not judge use up no try
    _put_off: new_deferrals=history.deferrals + 1«→ , counts_as_try=True»,
    test_unjudged_call_uses_up_no_try
    test_a_deferred_call_uses_up_no_try
a message has a limited number of tries
    _after_messages: if «tries + 1 >= policy.max_tries → False»: used_up
    test_last_deferred_try_fails_with_its_reason
calls that are refused before the provider finally stop the edition
    after_call: if «blocked < BLOCKED_CALLS_BEFORE_STOPPING → True»:
    test_three_blocked_calls_in_a_row_stop_the_edition
a provider that refuses calls is not called in a tight loop
    delay_after: return «max(SHORTEST_PAUSE_S, jitter * span) → jitter * span»
    test_backoff_doubles_up_to_its_ceiling

# --- Recording what only this worker knows ---
the record of an answer is retried during a database outage
    Dispatcher._settle: «retry_write → (lambda write, **_: write())»(write
    test_a_lost_database_connection_loses_no_answer
the result of a look-up is retried during a database outage
    Dispatcher._look_up: «retry_write → (lambda write, **_: write())»(
    test_a_lost_database_connection_loses_no_look_up
a batch that was claimed ahead is sent next
    Dispatcher._send_next: claimed, self._next_claim = «self._next_claim → None», None
    test_batch_claimed_ahead_is_sent_or_released
a batch that was claimed ahead is released when the worker stops
    Dispatcher.close: «release(claimed) → pass»
    test_batch_claimed_ahead_is_sent_or_released
a claim that a broken connection hid is released when the worker stops
    Worker.run: «self._run_duty(self._release_all)» unsent.close()
    test_stopped_worker_releases_claims_hidden_from_threads
a fault of the next batch loses no answer
    Dispatcher._settle: with suppress(«DatabaseError»):
    test_a_failed_claim_ahead_loses_no_answer
a data error is not retried
    retry_write: «if not is_transient(error): raise»
    test_an_error_about_data_is_raised_at_once

# --- Searching ---
an incomplete search gives no information
    Postmark.search: if «listed < total → False»:
    test_search_that_hides_results_proves_nothing
a search names the stream
    Postmark.page: "offset": offset, «"messagestream": stream,»
    test_a_search_names_the_stream
a failed page makes the whole search give no information
    Postmark.search: if isinstance(page, SearchFailed): «return page → break»
    test_search_with_a_failed_page_proves_nothing
a search hit counts for the key that it bears
    parse_search: if «metadata.get(field_name) != value → False»:
    test_results_with_another_value_are_ignored
an unreadable hit does not count as absent
    parse_search: None: «return None → continue» found
    test_unreadable_result_is_not_an_absence
""")
