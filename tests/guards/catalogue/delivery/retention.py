"""Guards of retention, and of copies that are dropped by edition."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- Expired rows ---
a locked row is left for later
    OldRows._delete: ORDER BY {", ".join(self.along)} LIMIT %s FOR UPDATE «SKIP LOCKED»))
    test_locked_row_is_left_for_later
a list read while its copies are dropped does not end as complete
    outcome_page: «_require_kept(Edition.objects.filter(pk=edition))»
    test_reading_a_list_during_a_drop_aborts
nothing is deleted while the provider may still be asked about it
    details_retention_days: «max(»int(settings.DETAILS_KEEP_DAYS)«, provider_retention_days())»
    test_details_outlast_the_providers_retention
the last call of an edition stays
    _CALL_MAY_GO: «AND later.finished_at > coalesce(attempt.finished_at, '-infinity')»)
    test_last_call_of_an_edition_stays_with_its_end
all calls of an unreconciled edition stay
    _CALL_MAY_GO: edition.id = attempt.edition_id AND «unreconciled_since IS NOT NULL → false»)
    test_all_calls_of_an_unreconciled_edition_stay
all calls of an unfinished edition stay
    _CALL_MAY_GO: AND («kind = 'newsletter' → false» AND (state
    test_all_calls_of_an_unfinished_edition_stay
an event that could not be applied stays until an operator looks
    applied_events: received_at", days«, "applied_at IS NOT NULL"»)
    test_parked_or_unfinished_rows_stay_at_any_age
a daily task that lost its lease stops
    prune_if_due: not is_stopping() «and periodic_tasks.extend_lease(lease, lease_s=LEASE_S)»
    test_run_stops_when_it_loses_its_lease
a failing kind does not stop the others
    _apply: except «Exception → OperationalError» as error: return
    test_other_kinds_are_deleted_and_failures_set_the_exit_code
    test_daily_task_logs_each_failure_and_retries
an image that is in a letter again is not unused
    mark_unused: «→ NOT» (id = ANY(%s)) «= (unused_since IS NOT NULL) → AND unused_since IS NULL»
    test_image_is_kept_if_a_letter_uses_it_again
a repeated upload restarts an image's time
    store_image: «same.exclude(unused_since=None).update(unused_since=None)»
    test_repeated_upload_restarts_the_time
an image that is being uploaded again is skipped, not waited for
    delete_unused: _IS_OLD} LIMIT %s «FOR UPDATE SKIP LOCKED»))
    test_image_being_uploaded_again_is_kept

# --- Copies ---
copies are deleted only of an edition that is marked
    delete_deliveries: AND «(SELECT deliveries_dropped_at IS NOT NULL FROM edition WHERE id = %s) →
        %s::bigint IS NOT NULL»
    test_database_refuses_deleting_copies_before_the_edition_is_marked
evidence of an edition with copies stays
    _delete_evidence: WHERE edition.id = %s «AND deliveries_dropped_at IS NOT NULL»
    test_database_refuses_deleting_copies_before_the_edition_is_marked
evidence of another issue stays when copies are dropped
    _delete_evidence: WHERE «edition.id = %s AND deliveries_dropped_at IS NOT NULL →
        %s::bigint IS NOT NULL»
    test_next_run_deletes_evidence_that_was_added_meanwhile
nothing is dropped during a publication
    mark_dropped: «wait_for_enqueues()» lock_edition
    test_nothing_is_dropped_while_a_correction_is_published
the newest issue's copies stay
    _STATUS: THEN «'newest' → ''»
    test_some_states_and_dates_keep_copies
copies stay that a scheduled correction needs
    _STATUS: THEN «'scheduled_correction' → ''»
    test_scheduled_correction_protects_the_copies
copies stay while events about them wait to be applied
    _STATUS: THEN «'unapplied_event' → ''»
    test_pending_events_keep_their_copies
a called-back issue does not count as the newest
    _STATUS: WHERE batch.edition_id = later.id «AND sent > 0»)
    test_called_back_issue_does_not_count_as_the_newest
of two runs the slower one continues after the other has marked the copies
    DropStatus.may_be_dropped: return not self.obstacle «and self.dropped_at is None»
    test_two_runs_both_continue_and_one_is_logged
rows that another run deletes do not count as a difference
    recount_before_dropping: if «status.counts.deliveries_dropped_at is None → True»:
    test_receipt_matches_while_another_run_deletes
dropping copies by command is logged
    _mark_dropped: «record_action_from_the_command_line(edition, "drop_copies") → pass»
    test_dropping_is_logged_once_over_several_runs
a copy that is marked as dropped but not yet deleted is not counted
    count_feedback: «AND NOT {unless}»
    test_complaints_and_bounces_are_applied_without_a_pause
    test_bounce_waiting_during_a_drop_is_not_counted
an acceptance of a copy marked as dropped raises no alarm
    _OF_EDITION: WHERE edition.id = %(edition)s «AND deliveries_dropped_at IS NULL»)
    test_another_acceptance_raises_no_alarm_and_leaves_no_evidence
copies stay while the provider may be asked about them
    _STATUS: THEN «'too_young' → ''»
    test_call_without_recorded_end_counts_by_its_deadline
the receipt is made before a copy goes
    _mark_dropped: ) «receipt_of(edition)»
    test_receipt_is_made_before_copies_are_dropped
rows are counted once more before they go
    _mark_dropped: «recount_before_dropping(edition)»
    test_rows_are_counted_again_for_an_old_receipt
a call without a recorded end counts by its deadline
    _STATUS: max(«greatest(finished_at, deadline_at) → finished_at»)
    test_call_without_recorded_end_counts_by_its_deadline
a correction is refused if it cannot reach all earlier recipients
    version_refusal: «reached_refusal(issue, version) → ""»
    test_dropped_copies_block_corrections_only_to_reached_readers
the database itself refuses a correction that cannot reach all earlier recipients
    sql: DROP TRIGGER who_was_reached_is_known ON edition
    test_database_refuses_a_correction_from_other_code
an event about a dropped copy reaches its reader
    find_copy: AND (copy.address IS NOT NULL «OR deliveries_dropped_at IS NOT NULL»)
    test_bounce_with_another_address_changes_nothing
an event about a dropped copy does not revive an erased reader
    _delete_if_erased: is_erased = «readers.registered().reader_at(address_key) is None → False»
    test_events_about_an_erased_reader_are_not_kept
a restored backup does not reopen dropped copies
    _stop_open_editions: WHERE «deliveries_dropped_at IS NULL → true» AND EXISTS (SELECT FROM batch
    test_restored_backup_does_not_reopen_dropped_editions
the database itself holds: copies are dropped only of ended editions
    sql: ALTER TABLE edition DROP CONSTRAINT deliveries_are_dropped_only_of_ended_editions
    test_the_database_refuses_contradictory_rows[deliveries_are_dropped_only_of_ended_editions]
the database itself holds: copies once dropped stay dropped
    sql: DROP TRIGGER deliveries_once_dropped_stay_dropped ON edition
    test_the_database_refuses_contradictory_rows[deliveries_once_dropped_stay_dropped]
prune counts nothing if nothing is deleted
    Command._show_progress: : if «number → True»: self._progress
    test_no_counter_appears_without_deletions
""")
