"""Guards of what goes with time, and of copies that are dropped by edition."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- What goes with time ---
what somebody holds is left to another time
    OldRows._delete: ORDER BY {", ".join(self.along)} LIMIT %s FOR UPDATE «SKIP LOCKED»))
    test_locked_row_is_left_for_later
a list of readers whose copies went while it was read does not end as if it were whole
    outcome_page: «_are_kept(Edition.objects.filter(pk=edition))»
    test_list_read_during_a_drop_aborts
nothing goes that the provider may still be asked about
    details_retention_days: «max(»int(settings.DETAILS_KEEP_DAYS)«, provider_retention_days())»
    test_details_outlast_the_providers_memory
the last call of an edition stays
    _CALL_MAY_GO: «AND later.finished_at > coalesce(attempt.finished_at, '-infinity')»)
    test_last_call_of_an_edition_stays_with_its_end
of an edition that is not reconciled all calls stay
    _CALL_MAY_GO: edition.id = attempt.edition_id AND «unreconciled_since IS NOT NULL → false»)
    test_all_calls_of_an_unreconciled_edition_stay
of an edition that is not over all calls stay
    _CALL_MAY_GO: AND («kind = 'newsletter' → false» AND (state
    test_all_calls_of_an_unfinished_edition_stay
an event that could not be applied stays until somebody has looked
    applied_events: received_at", days«, "applied_at IS NOT NULL"»)
    test_parked_or_unfinished_rows_stay_at_any_age
who has lost the lease of the daily task stops
    prune_if_due: not is_stopping() «and periodic_tasks.extend_lease(lease, lease_s=LEASE_S)»
    test_run_stops_when_it_loses_its_lease
a kind that breaks off keeps no other from going
    _apply: except «Exception → OperationalError» as error: return
    test_other_kinds_go_and_failures_set_the_exit_code
    test_daily_task_logs_each_failure_and_retries
a picture that is in a letter again is not unused
    look: «→ NOT» (id = ANY(%s)) «= (unused_since IS NOT NULL) → AND unused_since IS NULL»
    test_used_image_stays_even_if_it_was_unused_for_long
a picture that is uploaded again has all the time again
    _wanted_again: «same.exclude(unused_since=None).update(unused_since=None)»
    test_repeated_upload_restarts_the_time
a picture that is just being uploaded again is left and not waited for
    delete_unused: _IS_OLD} LIMIT %s «FOR UPDATE SKIP LOCKED»))
    test_image_being_uploaded_again_is_kept

# --- Copies ---
no copy is deleted of an edition that does not say so
    delete_deliveries: «AND (SELECT deliveries_dropped_at IS NOT NULL FROM edition WHERE id = %s)»
    test_database_refuses_deleting_copies_before_the_edition_is_marked
evidence stays of an edition whose copies are kept
    _delete_evidence: WHERE edition.id = %s «AND deliveries_dropped_at IS NOT NULL»
    test_database_refuses_deleting_copies_before_the_edition_is_marked
evidence of another issue stays when copies are dropped
    _delete_evidence: WHERE «edition.id = %s AND deliveries_dropped_at IS NOT NULL →
        %s::bigint IS NOT NULL»
    test_evidence_added_meanwhile_goes_with_the_next_run
nothing is dropped while somebody publishes
    mark_dropped: «wait_for_enqueues()» lock_edition
    test_nothing_is_dropped_while_a_correction_is_published
the newest issue's copies stay
    _STATUS: THEN «'newest' → ''»
    test_states_and_dates_that_keep_copies
copies stay that a scheduled correction goes by
    _STATUS: THEN «'scheduled_correction' → ''»
    test_scheduled_correction_protects_the_copies
copies stay while what was told of them waits to be applied
    _STATUS: THEN «'unapplied_event' → ''»
    test_stored_events_that_are_not_applied_yet
an issue that was called back takes nobody's place as the newest
    _STATUS: WHERE batch.edition_id = later.id «AND sent > 0»)
    test_called_back_issue_does_not_count_as_the_newest
who was a moment slower goes on
    DropStatus.may_be_dropped: return not self.obstacle «and self.dropped_at is None»
    test_two_runs_both_continue_and_one_is_logged
rows that another run deletes are not said to differ
    recount_before_dropping: if «status.counts.deliveries_dropped_at is None → True»:
    test_receipt_matches_while_another_run_deletes
who drops copies by hand is on record
    _mark_dropped: «record_action_from_the_command_line(edition, "drop_copies") → pass»
    test_dropping_is_logged_once_over_several_runs
by a copy that is dropped and still there nothing is counted
    count_feedback: «AND NOT {unless}»
    test_complaints_and_bounces_are_applied_without_a_pause
    test_bounce_waiting_during_a_drop_is_not_counted
an acceptance of a copy that is dropped and still there raises no alarm
    _OF_EDITION: WHERE edition.id = %(edition)s «AND deliveries_dropped_at IS NULL»)
    test_another_acceptance_raises_no_alarm_and_leaves_no_evidence
whether copies are dropped is not asked at every delivery
    _delete_if_erased: if «not exists and» delivery_events.is_dropped(
    test_existing_copy_causes_no_query_about_drops
copies stay while the provider may be asked about them
    _STATUS: THEN «'too_young' → ''»
    test_call_without_recorded_end_counts_by_its_deadline
the receipt is made before a copy goes
    _mark_dropped: ) «receipt_of(edition)»
    test_receipt_is_made_before_copies_are_dropped
rows are counted once more before they go
    _mark_dropped: «recount_before_dropping(edition)»
    test_rows_are_counted_again_for_an_old_receipt
a call whose end was never told counts by its deadline
    _STATUS: max(«greatest(finished_at, deadline_at) → finished_at»)
    test_call_without_recorded_end_counts_by_its_deadline
a correction goes to nobody rather than to some of those who were reached
    version_refusal: «reached_refusal(issue, version) → ""»
    test_correction_to_reached_readers_is_refused_to_everyone_is_not
the database itself refuses it, whatever the code does
    sql: DROP TRIGGER who_was_reached_is_known ON edition
    test_database_refuses_a_correction_from_other_code
what is told of a dropped copy reaches its reader
    exists_or_dropped: return _delivery(key).exists() «or is_dropped(key)»
    test_bounce_reaches_its_reader_whatever_address_it_names
what is told of a dropped copy brings nobody back who was erased
    _delete_if_erased: is_erased = «readers.registered().reader_at(address_key) is None → False»
    test_events_about_an_erased_reader_are_not_kept
a restored backup does not open what was dropped
    _stop_open_editions: WHERE «deliveries_dropped_at IS NULL → true» AND EXISTS (SELECT FROM batch
    test_restored_backup_does_not_reopen_it
the database itself holds: copies are dropped only of what is over
    sql: ALTER TABLE edition DROP CONSTRAINT deliveries_are_dropped_only_of_ended_editions
    test_the_row_cannot_lie[deliveries_are_dropped_only_of_ended_editions]
the database itself holds: copies once dropped stay dropped
    sql: DROP TRIGGER deliveries_once_dropped_stay_dropped ON edition
    test_the_row_cannot_lie[deliveries_once_dropped_stay_dropped]
prune counts nothing where nothing goes
    Command._show_progress: : if «number → True»: self._progress
    test_no_counter_appears_without_deletions
""")
