"""Guards of a restored backup: it is noticed first and reconciled before sending."""

from tests.guards.notation import guards

GUARDS = guards(r"""
after a restore the provider's lists are read at once
    _prepare_restored_database: «make_due(polling_tasks_by_stream().values())»
    test_the_providers_lists_are_read_at_once
nothing is claimed for a call in another database
    claim_batch: FROM database_identity AS «stored, this_database_1() AS this → stored JOIN
        this_database_1() AS this ON false» WHERE stored.database
    test_another_database_gives_out_no_batch
each changed value keeps a claim from another database
    claim_batch: WHERE «stored.database <> this.database OR» (stored.system_identifier
    test_another_database_gives_out_no_batch
a changed cluster gives out no batch
    claim_batch: OR (stored.system_identifier <> this.system_identifier AND
        stored.system_identifier <> '' AND this.system_identifier <> ''«→ AND false») OR
    test_another_database_gives_out_no_batch
a changed timeline gives out no batch
    claim_batch: OR («stored.timeline <> this.timeline → false» AND stored.timeline
    test_another_database_gives_out_no_batch
a changed own number means another database
    is_other_database: «stored.database <> this.database → false» OR (
    test_another_database_gives_out_no_batch
a changed cluster means another database
    is_other_database: «stored.system_identifier <> this.system_identifier → false»
    test_another_database_gives_out_no_batch
a changed timeline means another database
    is_other_database: «stored.timeline <> this.timeline → false» AND
    test_another_database_gives_out_no_batch
a value that the server does not report is no difference
    is_other_database: «AND stored.timeline <> '' AND this.timeline <> ''»)
    test_hidden_identity_field_is_not_a_difference
a correction for some readers waits until earlier versions are reconciled
    reached_refusal: if «unreconciled → False»:
    test_after_a_restore_a_correction_waits_for_its_reconciliation[noticed-unreached]
a correction for some readers waits even before the restore is noticed
    load_unreconciled_versions: unreconciled_since IS NOT NULL «OR NOT is_known_database_1()»
    test_after_a_restore_a_correction_waits_for_its_reconciliation[unnoticed-unreached]
the database itself holds: who is unreached is known
    sql: DROP TRIGGER who_is_unreached_is_known ON edition
    test_the_database_refuses_corrections_of_unreconciled_versions[unreached]
an edition cancelled before the restore is noticed is reconciled too
    _cancel: CASE WHEN «is_known_database_1() → true» THEN unreconciled_since
    test_cancelling_before_the_restore_is_noticed_leaves_it_unreconciled
nothing is called back in another database
    call_back: unreconciled_since IS NULL «AND is_known_database_1()» FROM
    test_cancelling_before_the_restore_is_noticed_leaves_it_unreconciled
open editions stop in another database
    check_identity: found = «replace(found, stopped=_prepare_restored_database(cursor)) → found»
    test_restore_stops_only_open_editions
a worker from before the restore loses its claim
    EPOCH_GAP: EPOCH_GAP = «1_000_000 → 0»
    test_a_restore_ends_the_claims_of_workers
reader ids are not reused after a restore
    IDS_APART: IDS_APART = «100_000_000 → 1»
    test_after_a_restore_ids_are_new
a second restore of one backup uses other ids and numbers
    reserve_ids: floor(«random() → 0» * %s))::bigint) FROM
    test_second_restore_skips_to_other_ids
request numbers are not reused after a restore
    next_request_number: «jumps * REQUESTS_APART if was_here else» 0
    test_lost_request_causes_no_second_copy_of_the_next
    test_the_first_data_request_after_a_restore_skips_numbers
request numbers jump only for readers from before the restore
    next_request_number: «subscriber_id // IDS_APART < jumps → True»
    test_a_new_reader_after_a_restore_starts_with_number_one
declaring and noticing a restore do not deadlock
    declare_restored: «_lock_identity(cursor)» stopped =
    test_declared_and_noticed_restore_do_not_deadlock
workers that start at once stop the editions once
    _lock_identity: found = _compare_identity(cursor, lock=«True → False»)
    test_workers_that_start_at_once_stop_the_editions_once

# --- Silence ---
silence counts between the last look-up and the provider's retention time
    SearchCoverage.counts_for: «if not self.since <= sent_at <= self.until: return False»
    test_absence_counts_between_last_look_up_and_retention
without visible later mail silence gives no information about earlier mail
    SearchCoverage.counts_for: if «self.shows_later_mail or self.last_accepted_at is None → True»:
    test_absence_proves_nothing_while_the_search_lags
copies that the provider has forgotten are never called reconciled
    find_obstacle: if «backup_not_before < coverage.since → False»:
    test_an_obstacle_is_named
nothing continues before silence counts
    find_obstacle: if «coverage.walked_at < reconcilable_at → False»:
    test_an_obstacle_is_named
nothing continues while the search shows no later mail
    find_obstacle: if «not coverage.shows_later_mail → False»:
    test_an_obstacle_is_named
later mail is searched before the scan
    ReconcileRound.run: (self._stream) «→ ¶self._walk()» shows_later_mail = last is None or
        bool(self._search.about(ATTEMPT_FIELD, last[0].hex)) shows_later_mail &=
        self._shows_mail_after_the_restore() «self._walk()»
    test_lagging_search_causes_no_second_copy
nothing continues before the whole search was read
    find_obstacle: return None if «was_all_shown → True» else
    test_an_obstacle_is_named
a round waits for the deadline of calls before the restore
    ReconcileRound._end: wait_s = «settings.DELIVERY_HTTP_DEADLINE_S +» self._last_lookup_after_s
    test_copies_sent_after_the_backup_are_recorded_once
mail after the restore is searched before an edition continues
    ReconcileRound.run: shows_later_mail &= «self._shows_mail_after_the_restore() → True»
    test_late_search_without_mail_on_record_causes_no_second_copy
a search that is late reconciles no cancelled edition either
    ReconcileRound._shows_mail_after_the_restore: walked.unreconciled_since is not None
        «→ and not walked.has_ended»
    test_late_search_without_mail_on_record_causes_no_second_copy[cancelled]
a refused check mail proves nothing after a restore
    ReconcileRound._shows_mail_after_the_restore: if later is None: return «False → True»
    test_refused_check_mail_reconciles_nothing
check mail says nothing about the calls before a restore
    find_last_accepted: return accepted«.exclude(batch_id=NO_BATCH)».values_list
    test_check_mail_is_not_the_last_accepted_call
only mail on the same stream is later mail after a restore
    find_accepted_after: filter(«stream=stream,» accepted__gt=0
    test_later_mail_of_another_stream_or_clock_reconciles_nothing
mail from before the clock was set back is not later mail after a restore
    find_accepted_after: accepted__gt=0«, started_at__lte=Now()»)
    test_later_mail_of_another_stream_or_clock_reconciles_nothing
only mail on the same stream is the last accepted
    find_last_accepted: filter(«stream=stream,» accepted__gt=0)
    test_later_mail_of_another_stream_or_clock_reconciles_nothing
later mail is searched before an edition continues
    ReconcileRound.run: = «last is None or bool(self._search.about(ATTEMPT_FIELD, last[0].hex)) →
        True»
    test_server_without_the_recorded_mail_reconciles_nothing

# --- Search hits ---
a hit counts by its key and not by its tag
    ReconcileRound._walk: if key is None «or key.issue != self._issue» or key.version not in
        self._editions:
    test_search_result_is_matched_by_key_not_tag
versions of an issue are kept apart
    ReconcileRound._walk: if key is None or key.issue != self._issue «or key.version not in
        self._editions»:
    test_versions_of_an_issue_are_distinguished
a recorded copy that the search lacks raises an alarm
    ReconcileRound._look_up_missing: «record_findings.raise_not_at_provider_alarm(walked, key,
        recipient) → pass»
    test_copies_missing_from_the_search_raise_an_alarm
a lagging search raises no alarm about missing copies
    ReconcileRound.run: last_accepted_at=«last[1] if last else» None
    test_copies_missing_from_the_search_raise_an_alarm
a message counts as recorded only under its id
    ReconcileRound._record: if recipient in recorded and «recorded[recipient] != ("sent",
        listed.message_id) → recorded[recipient][0] != "sent"»
    test_a_second_copy_of_a_recorded_copy_raises_an_alarm
messages of a version that only the provider knows are counted
    ReconcileRound._walk: «self.report.unknown[key.version] += is_new → pass»
    test_unknown_version_is_reported_separately
a known version outside the scan is not reported
    ReconcileRound.run: «del self.report.unknown[version] → pass»
    test_known_version_with_only_old_calls_is_not_reported
a version that only the provider knows waits for a decision
    Command.handle: or outcome.obstacles «or outcome.unknown» or
    test_unknown_version_is_reported_separately
counts that do not balance hold up no other edition
    ReconcileRound._do_for: except «DatabaseError → ZeroDivisionError» as error: logger
    test_unbalanced_counts_do_not_block_other_editions

# --- Continuing ---
a restore during the scan is reconciled anew
    end_reconciliation: id = %s AND «unreconciled_since = %s → (unreconciled_since = %s OR true)»
    test_a_restore_during_the_walk_is_reconciled_again
an edition with second copies does not continue automatically
    end_reconciliation: if «second_acceptances(record).filter(
        raised_at__gte=record.unreconciled_since).exists() → False»:
    test_edition_with_duplicate_copies_stays_stopped_after_reconciling
an edition that a fault stopped stays stopped when reconciled
    end_reconciliation: control="stopped"«, control_reason=restored(record.issue).dumps()»
    test_reconciled_editions_keep_their_state
an edition that an author paused stays paused when reconciled
    end_reconciliation: control=«"stopped", control_reason=restored(record.issue).dumps() →
        "paused"»
    test_reconciled_editions_keep_their_state
a hold outlives a restore
    resume_batches: due_at=«Greatest("due_at", Now()) → Now()»
    test_reconciled_editions_keep_their_state
""")
