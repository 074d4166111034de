"""Guards of retention, and of copies that are dropped by edition."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- Expired rows ---
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
    prune_if_due: not is_stopping() «and periodic_task_lease.extend_lease(lease, lease_s=LEASE_S)»
    test_run_stops_when_it_loses_its_lease

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
    test_the_newest_issue_keeps_all_its_versions
copies stay that a scheduled correction needs
    _STATUS: THEN «'scheduled_correction' → ''»
    test_scheduled_correction_protects_the_copies
copies stay while events about them wait to be applied
    _STATUS: THEN «'unapplied_event' → ''»
    test_pending_events_keep_their_copies
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
an event about a dropped copy does not revive an erased reader
    _delete_if_erased: is_erased = «reader_hooks.registered().reader_at(address_key) is None →
        False»
    test_events_about_an_erased_reader_are_not_kept
a restored backup does not reopen dropped copies
    _stop_open_editions: WHERE «deliveries_dropped_at IS NULL → true» AND EXISTS (SELECT FROM batch
    test_restored_backup_does_not_reopen_dropped_editions
""")
