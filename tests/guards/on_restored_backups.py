"""Guards of a restored backup: noticed before anything goes, reconciled before anything goes on."""

from __future__ import annotations

from tests.guards.guard import guard

IDENTITY = "delivery/queue/identity.py"
RECONCILE = "delivery/queue/reconcile.py"
DECISIONS = "delivery/reconciliation.py"
ROUND = "delivery/reconciliation_round.py"

RESTORED = "tests/delivery/test_restored_backup.py::"
REQUESTS = "tests/delivery/test_mail_on_request_after_a_restore.py::"
ANOTHER = f"{RESTORED}test_no_batch_can_be_claimed_in_a_database_that_is_another"
WEIGHED = "tests/delivery/test_reconciliation_decisions.py::"
RECONCILING = "tests/delivery/test_reconcile.py::"
ONLY_THERE = (
    "test_a_version_that_was_published_after_the_backup_is_said_and_can_be_told_apart_again"
)

GUARDS = [
    guard(
        "of a restored database the provider's lists are read at once",
        "delivery/queue/identity.py",
        "    make_due(cursor, errands_by_stream().values())\n",
        "",
        "tests/delivery/test_restored_backup.py::test_the_providers_lists_are_read_at_once",
    ),
    guard(
        "what goes on after a restore is named",
        "publishing/management/commands/reconcile.py",
        "        self._say_what_goes_on(unreconciled)\n        self.stdout",
        "        self.stdout",
        "tests/delivery/test_reconcile.py"
        "::test_what_goes_on_is_named_because_the_backup_does_not_know_who_paused_it",
    ),
    guard(
        "what goes on after a restore is named where the run breaks off too",
        "publishing/management/commands/reconcile.py",
        "            self._say_what_goes_on(unreconciled)\n            if",
        "            if",
        f"{RECONCILING}test_what_goes_on_is_named_by_a_run_that_cannot_end_too",
    ),
    guard(
        "nothing is claimed for a call in a database that is another",
        "delivery/queue/claim.py",
        "              AND {IS_THE_KNOWN_DATABASE}\n",
        "",
        ANOTHER,
    ),
    guard(
        "a database is another if its own number is",
        IDENTITY,
        "    stored.database <> this.database\n    OR (",
        "    false\n    OR (",
        ANOTHER,
    ),
    guard(
        "a database is another if its cluster is",
        IDENTITY,
        "stored.system_identifier <> this.system_identifier\n",
        "false\n",
        ANOTHER,
    ),
    guard(
        "a database is another if its timeline is",
        IDENTITY,
        "stored.timeline <> this.timeline AND",
        "false AND",
        ANOTHER,
    ),
    guard(
        "what a server does not tell is no difference",
        IDENTITY,
        " AND stored.timeline <> '' AND this.timeline <> '')",
        ")",
        f"{RESTORED}test_what_a_server_did_not_tell_is_no_difference_and_is_stored_when_it_does",
    ),
    guard(
        "what is open stops when the database is another",
        IDENTITY,
        "            stopped = _begin_anew(cursor)\n",
        "",
        f"{RESTORED}test_what_is_open_stops_and_what_ended_or_waits_for_a_person_stays",
    ),
    guard(
        "a worker of before the restore has lost its claim",
        IDENTITY,
        "EPOCHS_APART = 1_000_000",
        "EPOCHS_APART = 0",
        f"{RESTORED}test_a_worker_of_before_the_restore_has_lost_its_claim",
    ),
    guard(
        "ids of readers are not given out again after a restore",
        "subscribers/gaps_of_a_restore.py",
        "IDS_APART = 100_000_000",
        "IDS_APART = 1",
        f"{RESTORED}test_ids_of_readers_are_not_given_out_again_after_a_restore",
    ),
    guard(
        "the same backup restored again gives out other ids and numbers",
        "subscribers/gaps_of_a_restore.py",
        "floor(random() * %s)",
        "floor(0 * %s)",
        f"{REQUESTS}test_the_same_backup_restored_again_gives_out_other_ids_and_numbers",
    ),
    guard(
        "numbers of requests are not given out again after a restore",
        "subscribers/gaps_of_a_restore.py",
        "place * REQUESTS_APART if was_here else 0",
        "0",
        f"{REQUESTS}test_a_request_that_a_backup_does_not_know_of_is_no_second_copy_of_the_next",
        f"{REQUESTS}test_a_first_request_for_a_record_jumps_as_well_where_its_reader_was_here_before",
    ),
    guard(
        "only who was here before a restore has a number that jumps",
        "subscribers/gaps_of_a_restore.py",
        "subscriber_id // IDS_APART < place",
        "True",
        f"{REQUESTS}test_whoever_joins_after_a_restore_begins_with_number_one",
    ),
    guard(
        "who declares a restore and who notices it do not wait for each other",
        IDENTITY,
        "        _lock(cursor)\n        stopped",
        "        stopped",
        f"{RESTORED}test_whoever_declares_a_restore_and_whoever_notices_it_do_not_wait_for_each_"
        "other",
    ),
    guard(
        "workers that start at once stop the editions once",
        IDENTITY,
        "found = _look(cursor, lock=True)",
        "found = _look(cursor, lock=False)",
        f"{RESTORED}test_workers_that_start_at_once_stop_the_editions_once",
    ),
    # --- Silence ----------------------------------------------------------------------------------
    guard(
        "silence counts between the last look-up and the provider's memory",
        DECISIONS,
        "        if not self.since <= sent_at <= self.until:\n            return False\n",
        "",
        f"{WEIGHED}test_silence_counts_between_the_last_look_up_and_the_providers_memory",
    ),
    guard(
        "where later mail is not shown silence says nothing about what came before it",
        DECISIONS,
        "        if self.shows_later_mail or self.last_accepted_at is None:\n",
        "        if True:\n",
        f"{WEIGHED}test_where_later_mail_is_not_shown_silence_says_nothing_about_what_came_before_"
        "it",
    ),
    guard(
        "what the provider has forgotten is never called reconciled",
        DECISIONS,
        "    if backup_not_before < silence.since:\n",
        "    if False:\n",
        f"{WEIGHED}test_what_stands_in_the_way_is_named",
    ),
    guard(
        "nothing goes on before silence counts",
        DECISIONS,
        "    if walked_at < reconcilable_at:\n",
        "    if False:\n",
        f"{WEIGHED}test_what_stands_in_the_way_is_named",
    ),
    guard(
        "nothing goes on while the search does not show later mail",
        DECISIONS,
        "    if not shows_later_mail:\n        return Obstacle(",
        "    if False:\n        return Obstacle(",
        f"{WEIGHED}test_what_stands_in_the_way_is_named",
    ),
    guard(
        "nothing goes on before all was shown",
        DECISIONS,
        "    if not was_all_shown:\n",
        "    if False:\n",
        f"{WEIGHED}test_what_stands_in_the_way_is_named",
    ),
    guard(
        "silence is weighed by the deadline and the last look-up",
        DECISIONS,
        "timedelta(seconds=deadline_s + last_lookup_after_s)",
        "timedelta(seconds=last_lookup_after_s)",
        f"{WEIGHED}test_a_call_that_was_in_the_air_has_its_deadline_and_then_all_look_ups",
    ),
    guard(
        "later mail is asked for when an edition is to go on",
        ROUND,
        'shows_later_mail = last is None or bool(self._search.about("attempt", last[0].hex))',
        "shows_later_mail = True",
        f"{RECONCILING}test_an_edition_does_not_go_on_while_the_search_does_not_show_later_mail",
    ),
    # --- What was found ---------------------------------------------------------------------------
    guard(
        "a hit is believed by its key and not by its tag",
        ROUND,
        "if key is None or key.issue != self._issue or key.version not in self._editions:",
        "if key is None or key.version not in self._editions:",
        f"{RECONCILING}test_a_hit_is_believed_by_its_key_and_not_by_its_tag",
    ),
    guard(
        "versions of an issue are told apart",
        ROUND,
        "if key is None or key.issue != self._issue or key.version not in self._editions:",
        "if key is None or key.issue != self._issue:",
        f"{RECONCILING}test_versions_of_an_issue_are_told_apart",
    ),
    guard(
        "what is recorded and not shown raises an alarm",
        ROUND,
        "                    reconcile.raise_missing(walked, key, recipient)",
        "                    pass",
        f"{RECONCILING}test_what_the_provider_does_not_show_raises_an_alarm_and_is_not_sent_again",
    ),
    guard(
        "a message is the one on record only under its id",
        DECISIONS,
        'return self.outcome == "sent" and self.message_id == listed.message_id',
        'return self.outcome == "sent"',
        f"{WEIGHED}test_a_message_is_the_one_on_record_only_if_it_is_recorded_as_sent_under_its_id",
    ),
    guard(
        "messages of a version that only the provider knows are counted",
        ROUND,
        "self.report.unknown[key.version] += is_new",
        "pass",
        f"{RECONCILING}{ONLY_THERE}",
    ),
    guard(
        "a version that is known and not walked is nothing to say",
        ROUND,
        "del self.report.unknown[version]",
        "pass",
        f"{RECONCILING}test_a_version_that_is_known_and_not_walked_is_nothing_to_say",
    ),
    guard(
        "a version that only the provider knows waits for a person",
        "publishing/management/commands/reconcile.py",
        "or outcome.obstacles or outcome.unknown:",
        "or outcome.obstacles:",
        f"{RECONCILING}{ONLY_THERE}",
    ),
    guard(
        "books that do not balance hold up no other edition",
        ROUND,
        "        except DatabaseError as error:\n",
        "        except ZeroDivisionError as error:\n",
        f"{RECONCILING}test_an_edition_whose_books_do_not_balance_is_said_and_the_others_are_"
        "reconciled",
    ),
    # --- Going on ---------------------------------------------------------------------------------
    guard(
        "a restore during the walk is reconciled anew",
        RECONCILE,
        "WHERE id = %s AND unreconciled_since = %s",
        "WHERE id = %s AND (unreconciled_since = %s OR true)",
        f"{RECONCILING}test_a_restore_during_the_walk_is_reconciled_anew",
    ),
    guard(
        "what went out twice does not go on by itself",
        RECONCILE,
        "        if was_sent_twice:\n",
        "        if False:\n",
        f"{RECONCILING}test_an_edition_that_went_out_twice_does_not_go_on_when_it_is_reconciled",
    ),
    guard(
        "what a fault stopped stays stopped when it is reconciled",
        RECONCILE,
        "                   control_at = clock_timestamp()\n"
        "            WHERE id = %s AND control = 'stopped' AND control_reason = %s",
        "                   control_at = clock_timestamp()\n"
        "            WHERE id = %s AND control = 'stopped' AND (control_reason = %s OR true)",
        f"{RECONCILING}test_what_was_paused_stays_paused_and_what_a_fault_stopped_stays_stopped",
    ),
    guard(
        "what a person paused stays paused when it is reconciled",
        RECONCILE,
        "                   control_at = clock_timestamp()\n"
        "            WHERE id = %s AND control = 'stopped' AND control_reason = %s",
        "                   control_at = clock_timestamp()\n"
        "            WHERE id = %s AND (control = 'paused' OR control_reason = %s)",
        f"{RECONCILING}test_what_was_paused_stays_paused_and_what_a_fault_stopped_stays_stopped",
    ),
    guard(
        "a hold outlives a restore",
        RECONCILE,
        "due_at = greatest(due_at, clock_timestamp())",
        "due_at = clock_timestamp()",
        f"{RECONCILING}test_a_reconciled_hold_is_still_held",
    ),
]
