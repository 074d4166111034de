"""Guards of what goes with time, and of copies that are dropped by edition."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- What goes with time ---
what somebody holds is left to another time
    OldRows._delete: ORDER BY {", ".join(self.along)} LIMIT %s FOR UPDATE «SKIP LOCKED»))
    test_a_row_that_somebody_holds_is_left_to_another_time
a list of readers whose copies went while it was read does not end as if it were whole
    outcome_page: «_are_kept(Edition.objects.filter(pk=edition))»
    test_a_list_that_is_read_meanwhile_breaks_off_instead_of_ending_short
nothing goes that the provider may still be asked about
    details_retention_days: «max(»int(settings.DETAILS_KEEP_DAYS)«, provider_retention_days())»
    test_details_outlast_what_the_provider_remembers
the last call of an edition stays
    _CALL_MAY_GO: «AND later.finished_at > coalesce(attempt.finished_at, '-infinity')»)
    test_the_last_of_an_edition_stays_and_so_does_its_end
of an edition that is not reconciled all calls stay
    _CALL_MAY_GO: edition.id = attempt.edition_id AND «unreconciled_since IS NOT NULL → false»)
    test_of_an_edition_that_is_not_reconciled_all_stay
of an edition that is not over all calls stay
    _CALL_MAY_GO: AND («kind = 'newsletter' → false» AND (state
    test_of_an_edition_that_is_not_over_all_stay
an event that could not be applied stays until somebody has looked
    applied_events: received_at", days«, "applied_at IS NOT NULL"»)
    test_what_is_set_aside_or_not_ended_stays_however_old
who has lost the lease of the daily task stops
    prune_if_due: not is_stopping() «and periodic_tasks.extend_lease(lease, lease_s=LEASE_S)»
    test_one_that_lost_its_lease_stops
a kind that breaks off keeps no other from going
    _apply: except «Exception → OperationalError» as error: return
    test_the_others_go_each_that_broke_is_said_and_the_exit_code_tells_it
    test_the_daily_task_says_each_of_them_and_tries_again
a picture that is in a letter again is not unused
    look: «→ NOT» (id = ANY(%s)) «= (unused_since IS NOT NULL) → AND unused_since IS NULL»
    test_one_that_a_letter_shows_stays_also_if_it_was_unused_for_long
a picture that is uploaded again has all the time again
    _wanted_again: «same.exclude(unused_since=None).update(unused_since=None)»
    test_one_whose_file_is_uploaded_again_has_all_the_time_again
a picture that is just being uploaded again is left and not waited for
    delete_unused: _IS_OLD} LIMIT %s «FOR UPDATE SKIP LOCKED»))
    test_one_that_is_just_being_uploaded_again_is_left

# --- Copies ---
no copy is deleted of an edition that does not say so
    delete_deliveries: «AND (SELECT deliveries_dropped_at IS NOT NULL FROM edition WHERE id = %s)»
    test_copies_of_an_edition_that_does_not_say_so_cannot_be_deleted
evidence stays of an edition whose copies are kept
    _delete_evidence: WHERE edition.id = %s «AND deliveries_dropped_at IS NOT NULL»
    test_copies_of_an_edition_that_does_not_say_so_cannot_be_deleted
evidence of another issue stays when copies are dropped
    _delete_evidence: WHERE «edition.id = %s AND deliveries_dropped_at IS NOT NULL →
        %s::bigint IS NOT NULL»
    test_evidence_that_came_between_goes_with_the_next_run
nothing is dropped while somebody publishes
    mark_dropped: «wait_for_enqueues()» lock_edition
    test_while_one_is_being_published_nothing_is_dropped
the newest issue's copies stay
    _STATUS: THEN «'newest' → ''»
    test_what_stays
copies stay that a scheduled correction goes by
    _STATUS: THEN «'scheduled_correction' → ''»
    test_one_that_waits_for_its_time_keeps_them
copies stay while what was told of them waits to be applied
    _STATUS: THEN «'unapplied_event' → ''»
    test_while_something_that_was_told_is_not_applied_yet
an issue that was called back takes nobody's place as the newest
    _STATUS: WHERE batch.edition_id = later.id «AND sent > 0»)
    test_is_the_last_that_reached_somebody_and_not_one_that_was_called_back
who was a moment slower goes on
    DropStatus.may_be_dropped: return not self.obstacle «and self.dropped_at is None»
    test_of_two_at_once_both_go_on_and_one_is_on_record
rows that another run deletes are not said to differ
    recount_before_dropping: if «status.counts.deliveries_dropped_at is None → True»:
    test_what_another_run_has_begun_to_delete_is_not_said_to_differ
who drops copies by hand is on record
    _mark_dropped: «record_action_from_the_command_line(edition, "drop_copies") → pass»
    test_it_stands_in_the_log_once_however_often_it_is_gone_on_with
by a copy that is dropped and still there nothing is counted
    count_feedback: «AND NOT {unless}»
    test_complaints_and_bounces_reach_their_readers_and_nothing_is_paused
    test_a_bounce_that_waits_while_copies_are_dropped_is_counted_by_none_of_them
an acceptance of a copy that is dropped and still there raises no alarm
    _OF_EDITION: WHERE edition.id = %(edition)s «AND deliveries_dropped_at IS NULL»)
    test_another_acceptance_raises_no_alarm_and_leaves_no_evidence
whether copies are dropped is not asked at every delivery
    _delete_if_erased: if «not exists and» delivery_events.is_dropped(
    test_of_a_copy_that_is_here_nobody_asks_whether_it_was_dropped
copies stay while the provider may be asked about them
    _STATUS: THEN «'too_young' → ''»
    test_a_call_whose_end_nobody_knows_counts_by_when_it_had_to_end
the receipt is made before a copy goes
    _mark_dropped: ) «receipt_of(edition)»
    test_the_receipt_is_made_before_anything_goes
rows are counted once more before they go
    _mark_dropped: «recount_before_dropping(edition)»
    test_rows_are_counted_again_also_where_the_receipt_was_made_long_ago
a call whose end was never told counts by its deadline
    _STATUS: max(«greatest(finished_at, deadline_at) → finished_at»)
    test_a_call_whose_end_nobody_knows_counts_by_when_it_had_to_end
a correction goes to nobody rather than to some of those who were reached
    version_refusal: «reached_refusal(issue, version) → ""»
    test_to_those_who_were_reached_is_refused_and_to_everyone_is_not
the database itself refuses it, whatever the code does
    sql: DROP TRIGGER who_was_reached_is_known ON edition
    test_the_database_refuses_it_to_code_that_knows_nothing_of_dropping
what is told of a dropped copy reaches its reader
    exists_or_dropped: return _delivery(key).exists() «or is_dropped(key)»
    test_a_bounce_reaches_its_reader_whatever_address_it_names
what is told of a dropped copy brings nobody back who was erased
    _delete_if_erased: is_erased = «readers.registered().reader_at(address_key) is None → False»
    test_what_is_told_of_somebody_who_was_erased_is_not_kept
a restored backup does not open what was dropped
    _stop_open_editions: WHERE «deliveries_dropped_at IS NULL → true» AND EXISTS (SELECT FROM batch
    test_a_restored_backup_does_not_open_it_again
the database itself holds: copies are dropped only of what is over
    sql: ALTER TABLE edition DROP CONSTRAINT deliveries_are_dropped_only_of_ended_editions
    test_the_row_cannot_lie[deliveries_are_dropped_only_of_ended_editions]
the database itself holds: copies once dropped stay dropped
    sql: DROP TRIGGER deliveries_once_dropped_stay_dropped ON edition
    test_the_row_cannot_lie[deliveries_once_dropped_stay_dropped]
prune counts nothing where nothing goes
    Command._show_progress: : if «number → True»: self._progress
    test_where_nothing_goes_nothing_is_counted
""")
