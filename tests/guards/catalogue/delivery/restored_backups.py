"""Guards of a restored backup: noticed before anything goes, reconciled before anything goes on."""

from tests.guards.notation import guards

GUARDS = guards(r"""
of a restored database the provider's lists are read at once
    _prepare_restored_database: «make_due(polling_tasks_by_stream().values())»
    test_the_providers_lists_are_read_at_once
what goes on after a restore is named
    Command.handle: self._say_what_is_odd(outcome) «self._say_what_goes_on(unreconciled)»
    test_reconciled_editions_are_what_they_were
what goes on after a restore is named where the run breaks off too
    Command.handle: «self._say_what_goes_on(unreconciled)» if isinstance
    test_what_goes_on_is_named_by_a_run_that_cannot_end_too
nothing is claimed for a call in a database that is another
    _claim_next: «AND {IS_THE_KNOWN_DATABASE}» ORDER
    test_another_database_gives_out_no_batch
a database is another if its own number is
    DIFFERS: «stored.database <> this.database → false» OR (
    test_another_database_gives_out_no_batch
a database is another if its cluster is
    DIFFERS: «stored.system_identifier <> this.system_identifier → false»
    test_another_database_gives_out_no_batch
a database is another if its timeline is
    DIFFERS: «stored.timeline <> this.timeline → false» AND
    test_another_database_gives_out_no_batch
what a server does not tell is no difference
    DIFFERS: «AND stored.timeline <> '' AND this.timeline <> ''»)
    test_what_a_server_hides_is_no_difference
a correction for some waits until earlier versions are reconciled
    reached_refusal: if «unreconciled → False»:
    test_after_a_restore_a_correction_waits_for_its_reconciliation[noticed-unreached]
a correction for some waits also if nobody has noticed the restore
    load_unreconciled_versions: unreconciled_since IS NOT NULL «OR NOT {IS_THE_KNOWN_DATABASE}»
    test_after_a_restore_a_correction_waits_for_its_reconciliation[unnoticed-unreached]
the database itself holds: who is unreached is known
    sql: DROP TRIGGER who_is_unreached_is_known ON edition
    test_the_database_refuses_corrections_of_unreconciled_versions[unreached]
an edition cancelled before anybody noticed the restore is reconciled too
    _cancel: CASE WHEN «{IS_THE_KNOWN_DATABASE} → true» THEN unreconciled_since
    test_cancelling_before_anybody_noticed_the_restore_leaves_it_unreconciled
nothing is called back in a database that is another
    call_back: unreconciled_since IS NULL «AND {IS_THE_KNOWN_DATABASE}» FROM
    test_cancelling_before_anybody_noticed_the_restore_leaves_it_unreconciled
what is open stops when the database is another
    check_identity: found = «replace(found, stopped=_prepare_restored_database(cursor)) → found»
    test_what_is_open_stops_and_what_ended_or_waits_for_a_person_stays
a worker of before the restore has lost its claim
    EPOCH_GAP: EPOCH_GAP = «1_000_000 → 0»
    test_a_worker_of_before_the_restore_has_lost_its_claim
ids of readers are not given out again after a restore
    IDS_APART: IDS_APART = «100_000_000 → 1»
    test_after_a_restore_ids_are_new
the same backup restored again gives out other ids and numbers
    reserve_ids: floor(«random() → 0» * %s))::bigint) FROM
    test_the_same_backup_restored_again_gives_out_other_ids_and_numbers
numbers of requests are not given out again after a restore
    next_request_number: «place * REQUESTS_APART if was_here else» 0
    test_a_request_unknown_to_the_backup_is_no_second_copy_of_the_next
    test_a_first_request_for_a_record_jumps_after_a_restore
only who was here before a restore has a number that jumps
    next_request_number: «subscriber_id // IDS_APART < place → True»
    test_whoever_joins_after_a_restore_begins_with_number_one
who declares a restore and who notices it do not wait for each other
    declare_restored: «_lock_identity(cursor)» stopped =
    test_declaring_and_noticing_a_restore_do_not_wait_for_each_other
workers that start at once stop the editions once
    _lock_identity: found = _compare_identity(cursor, lock=«True → False»)
    test_workers_that_start_at_once_stop_the_editions_once

# --- Silence ---
silence counts between the last look-up and the provider's memory
    SearchCoverage.counts_for: «if not self.since <= sent_at <= self.until: return False»
    test_silence_counts_between_the_last_look_up_and_the_providers_memory
where later mail is not shown silence says nothing about what came before it
    SearchCoverage.counts_for: if «self.shows_later_mail or self.last_accepted_at is None → True»:
    test_where_later_mail_is_not_shown_silence_says_nothing_about_what_came_before_it
what the provider has forgotten is never called reconciled
    find_obstacle: if «backup_not_before < coverage.since → False»:
    test_what_stands_in_the_way_is_named
nothing goes on before silence counts
    find_obstacle: if «coverage.walked_at < reconcilable_at → False»:
    test_what_stands_in_the_way_is_named
nothing goes on while the search does not show later mail
    find_obstacle: if «not coverage.shows_later_mail → False»:
    test_what_stands_in_the_way_is_named
later mail is asked for before the walk
    ReconcileRound.run: (self._stream) «→ ¶self._walk()» shows_later_mail = last is None or
        bool(self._search.about("attempt", last[0].hex)) «self._walk()»
    test_search_that_catches_up_after_the_walk_lets_nothing_go_twice
nothing goes on before all was shown
    find_obstacle: return None if «was_all_shown → True» else
    test_what_stands_in_the_way_is_named
silence is weighed by the deadline and the last look-up
    reconcilable_at: timedelta(seconds=«deadline_s +» last_lookup_after_s)
    test_a_call_that_was_in_the_air_has_its_deadline_and_then_all_look_ups
a round waits for the deadline of a call before the restore
    ReconcileRound._end: deadline_s=«settings.DELIVERY_HTTP_DEADLINE_S → 0.0»
    test_what_was_sent_after_the_backup_is_recorded_and_the_rest_goes_out
later mail is asked for when an edition is to go on
    ReconcileRound.run: = «last is None or bool(self._search.about("attempt", last[0].hex)) → True»
    test_search_that_catches_up_after_the_walk_lets_nothing_go_twice

# --- What was found ---
a hit is believed by its key and not by its tag
    ReconcileRound._walk: if key is None «or key.issue != self._issue» or key.version not in
        self._editions:
    test_a_hit_is_believed_by_its_key_not_its_tag
versions of an issue are told apart
    ReconcileRound._walk: if key is None or key.issue != self._issue «or key.version not in
        self._editions»:
    test_versions_of_an_issue_are_told_apart
what is recorded and not shown raises an alarm
    ReconcileRound._look_up_missing: «record_findings.raise_not_at_provider_alarm(walked, key,
        recipient) → pass»
    test_copies_that_are_not_shown_raise_an_alarm
a search that lags raises no alarm about missing copies
    ReconcileRound.run: last_accepted_at=«last[1] if last else» None
    test_copies_that_are_not_shown_raise_an_alarm
a message is the one on record only under its id
    compare: elif «row == ("sent", listed.message_id) → row[0] == "sent"»:
    test_a_message_is_the_one_on_record_only_if_it_is_recorded_as_sent_under_its_id
messages of a version that only the provider knows are counted
    ReconcileRound._walk: «self.report.unknown[key.version] += is_new → pass»
    test_an_unknown_version_is_said_and_told_apart
a version that is known and not walked is nothing to say
    ReconcileRound.run: «del self.report.unknown[version] → pass»
    test_a_known_version_not_walked_is_not_said
a version that only the provider knows waits for a person
    Command.handle: or outcome.obstacles «or outcome.unknown» or
    test_an_unknown_version_is_said_and_told_apart
counts that do not balance hold up no other edition
    ReconcileRound._do_for: except «DatabaseError → ZeroDivisionError» as error: logger
    test_books_out_of_balance_hold_up_no_other

# --- Going on ---
a restore during the walk is reconciled anew
    end_reconciliation: id = %s AND «unreconciled_since = %s → (unreconciled_since = %s OR true)»
    test_a_restore_during_the_walk_is_reconciled_anew
what went out twice does not go on by itself
    end_reconciliation: if «second_acceptances(record).filter(
        raised_at__gte=record.unreconciled_since).exists() → False»:
    test_an_edition_that_went_out_twice_does_not_go_on_when_it_is_reconciled
what a fault stopped stays stopped when it is reconciled
    end_reconciliation: control="stopped"«, control_reason=restored(record.issue).dumps()»
    test_reconciled_editions_are_what_they_were
what a person paused stays paused when it is reconciled
    end_reconciliation: control=«"stopped", control_reason=restored(record.issue).dumps() →
        "paused"»
    test_reconciled_editions_are_what_they_were
a hold outlives a restore
    end_reconciliation: due_at = «greatest(due_at, clock_timestamp()) → clock_timestamp()»
    test_reconciled_editions_are_what_they_were
""")
