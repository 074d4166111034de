"""Guards of what goes with time, and of copies that are dropped by edition."""

from __future__ import annotations

from tests.guards.guard import constraint, guard

PRUNING = "tests/retention/test_what_goes_with_time.py::"
PICTURES = "tests/retention/test_pictures_that_no_letter_shows.py::"
BY_HAND = "tests/retention/test_dropping_by_hand.py::"
PROCESSES = "tests/retention/test_prune_in_processes.py::"
HALF = "tests/retention/test_what_is_told_of_half_dropped_copies.py::"
KEEPS = "tests/retention/test_what_keeps_copies.py::"
BREAKS_OFF = "tests/retention/test_a_kind_that_breaks_off.py::"
DROPPING = "tests/retention/test_dropping_copies.py::"
ROW = "tests/delivery/test_what_the_database_promises.py::test_the_row_cannot_lie"
QUEUE = "delivery/queue/dropping.py"
CALLS = "delivery/queue/old_work.py"
SAYS_WHY = f"{DROPPING}TestWhatIsRefused::test_it_says_why_in_one_sentence"

GUARDS = [
    # --- What goes with time ----------------------------------------------------------------------
    guard(
        "what somebody holds is left to another time",
        "delivery/queue/pieces.py",
        'ORDER BY {", ".join(self.along)} LIMIT %s FOR UPDATE SKIP LOCKED))',
        'ORDER BY {", ".join(self.along)} LIMIT %s FOR UPDATE))',
        f"{PRUNING}TestBesideOthers::test_a_row_that_somebody_holds_is_left_to_another_time",
    ),
    guard(
        "a list of readers whose copies went while it was read does not end as if it were whole",
        "publishing/reader_outcomes.py",
        "    _are_kept(Edition.objects.filter(pk=edition))\n",
        "",
        f"{DROPPING}TestWhatIsShown"
        "::test_a_list_that_is_read_meanwhile_breaks_off_instead_of_ending_short",
    ),
    guard(
        "nothing goes that the provider may still be asked about",
        "delivery/provider_memory.py",
        "    return max(int(settings.DETAILS_KEEP_DAYS), days_until_forgotten())",
        "    return int(settings.DETAILS_KEEP_DAYS)",
        f"{PRUNING}TestWhatGoes::test_details_outlast_what_the_provider_remembers",
    ),
    guard(
        "the last call of an edition stays",
        CALLS,
        "              AND later.finished_at > coalesce(attempt.finished_at, '-infinity'))",
        "              )",
        f"{PRUNING}TestCalls::test_the_last_of_an_edition_stays_and_so_does_its_end",
    ),
    guard(
        "of an edition that is not reconciled all calls stay",
        CALLS,
        "WHERE edition.id = attempt.edition_id AND unreconciled_since IS NOT NULL)",
        "WHERE edition.id = attempt.edition_id AND false)",
        f"{PRUNING}TestCalls::test_of_an_edition_that_is_not_reconciled_all_stay",
    ),
    guard(
        "of an edition that is not over all calls stay",
        CALLS,
        "          AND (kind = 'newsletter'\n                   AND (state",
        "          AND (false\n                   AND (state",
        f"{PRUNING}TestCalls::test_of_an_edition_that_is_not_over_all_stay",
    ),
    guard(
        "an event that could not be applied stays until somebody has looked",
        "delivery/queue/kept_events.py",
        '"received_at", days, "applied_at IS NOT NULL")',
        '"received_at", days)',
        f"{PRUNING}TestWhatGoes::test_what_is_set_aside_or_not_ended_stays_however_old",
    ),
    guard(
        "who has lost the lease of the daily errand stops",
        "newsletter_site/daily_prune.py",
        "not is_stopping() and errand.hold_on(mine, lease_s=LEASE_S)",
        "not is_stopping()",
        f"{PRUNING}TestTheDailyErrand::test_one_that_lost_its_lease_stops",
    ),
    guard(
        "a kind that breaks off keeps no other from going",
        "newsletter_site/retention.py",
        "        except Exception as error:",
        "        except OperationalError as error:",
        f"{BREAKS_OFF}test_the_others_go_each_that_broke_is_said_and_the_exit_code_tells_it",
        f"{BREAKS_OFF}test_the_daily_errand_says_each_of_them_and_tries_again",
    ),
    guard(
        "a picture that is in a letter again is not unused",
        "publishing/unused_pictures.py",
        "(id = ANY(%s)) = (unused_since IS NOT NULL)",
        "NOT (id = ANY(%s)) AND unused_since IS NULL",
        f"{PICTURES}test_one_that_a_letter_shows_stays_also_if_it_was_unused_for_long",
    ),
    guard(
        "a picture that is uploaded again has all the time again",
        "publishing/pictures.py",
        "    same.exclude(unused_since=None).update(unused_since=None)\n",
        "",
        f"{PICTURES}test_one_whose_file_is_uploaded_again_has_all_the_time_again",
    ),
    guard(
        "a picture that is just being uploaded again is left and not waited for",
        "publishing/unused_pictures.py",
        "LIMIT %s FOR UPDATE SKIP LOCKED))",
        "LIMIT %s))",
        f"{PICTURES}test_one_that_is_just_being_uploaded_again_is_left",
    ),
    # --- Copies -----------------------------------------------------------------------------------
    guard(
        "no copy is deleted of an edition that does not say so",
        QUEUE,
        "              AND (SELECT copies_dropped_at IS NOT NULL FROM edition "
        "WHERE id = %(edition)s)\n",
        "",
        f"{DROPPING}TestWhatIsRefused::"
        "test_copies_of_an_edition_that_does_not_say_so_cannot_be_deleted",
    ),
    guard(
        "nothing is dropped while somebody publishes",
        QUEUE,
        "        wait_for_copies_being_made()\n",
        "",
        f"{DROPPING}TestCorrections::test_while_one_is_being_published_nothing_is_dropped",
    ),
    guard(
        "the newest issue's copies stay",
        QUEUE,
        "        and not standing.is_newest\n",
        "",
        SAYS_WHY,
    ),
    guard(
        "copies stay that a scheduled correction goes by",
        QUEUE,
        "        and not standing.is_asked_for\n",
        "",
        SAYS_WHY,
    ),
    guard(
        "copies stay while what was told of them waits to be applied",
        QUEUE,
        "        and not standing.is_told_of\n",
        "",
        SAYS_WHY,
    ),
    guard(
        "an issue that was called back takes nobody's place as the newest",
        QUEUE,
        "WHERE batch.edition_id = later.id AND sent > 0)",
        "WHERE batch.edition_id = later.id)",
        f"{KEEPS}TestTheNewestIssue::"
        "test_is_the_last_that_reached_somebody_and_not_one_that_was_called_back",
    ),
    guard(
        "who was a moment slower goes on",
        QUEUE,
        "            return Answer.WAS_SAID_BEFORE\n",
        "            return Answer.THEY_STAY\n",
        f"{PROCESSES}test_of_two_at_once_both_go_on_and_one_is_on_record",
    ),
    guard(
        "rows that another run deletes are not said to differ",
        "publishing/receipts.py",
        "        if status.books.copies_dropped_at is None:\n",
        "        if True:\n",
        f"{BY_HAND}test_what_another_run_has_begun_to_delete_is_not_said_to_differ",
    ),
    guard(
        "who drops copies by hand is on record",
        "publishing/dropping_copies.py",
        "            record(edition)\n",
        "            pass\n",
        f"{BY_HAND}test_it_stands_in_the_log_once_however_often_it_is_gone_on_with",
    ),
    guard(
        "by a copy that is dropped and still there nothing is counted",
        "delivery/queue/ledger.py",
        " AND NOT {_IS_DROPPED}",
        "",
        f"{HALF}test_complaints_and_bounces_reach_their_readers_and_nothing_is_paused",
        f"{HALF}test_a_bounce_that_waits_while_copies_are_dropped_is_counted_by_none_of_them",
    ),
    guard(
        "an acceptance of a copy that is dropped and still there raises no alarm",
        "delivery/queue/evidence.py",
        "WHERE edition.id = %(edition)s AND copies_dropped_at IS NULL)\n",
        "WHERE edition.id = %(edition)s)\n",
        f"{HALF}test_another_acceptance_raises_no_alarm_and_leaves_no_evidence",
    ),
    guard(
        "whether copies are dropped is not asked at every delivery",
        "delivery/queue/provider_event.py",
        "if not is_here and is_dropped(",
        "if is_dropped(",
        f"{HALF}test_of_a_copy_that_is_here_nobody_asks_whether_it_was_dropped",
    ),
    guard(
        "copies stay while the provider may be asked about them",
        QUEUE,
        "        and standing.is_old_enough\n",
        "",
        SAYS_WHY,
    ),
    guard(
        "the receipt is made before a copy goes",
        "publishing/dropping_copies.py",
        "        receipt_of(edition)\n",
        "",
        f"{DROPPING}TestWhatStays::test_the_receipt_is_made_before_anything_goes",
    ),
    guard(
        "rows are counted once more before they go",
        "publishing/dropping_copies.py",
        "        recount_before_dropping(edition)\n",
        "",
        f"{DROPPING}TestWhatIsRefused::"
        "test_rows_are_counted_again_also_where_the_receipt_was_made_long_ago",
    ),
    guard(
        "a call whose end was never told counts by its deadline",
        QUEUE,
        "max(greatest(finished_at, deadline_at))",
        "max(finished_at)",
        f"{DROPPING}TestWhatIsRefused::"
        "test_a_call_whose_end_nobody_knows_counts_by_when_it_had_to_end",
    ),
    guard(
        "a correction goes to nobody rather than to some of those who were reached",
        "publishing/versions.py",
        '    return why_not_reached(issue, version) if goes_to == REACHED else ""',
        '    return ""',
        f"{DROPPING}TestCorrections::"
        "test_to_those_who_were_reached_is_refused_and_to_everyone_is_not",
    ),
    guard(
        "the database itself refuses it, whatever the code does",
        "migrations/delivery/0021_a_correction_knows_who_it_goes_to.py",
        "    IF FOUND THEN\n",
        "    IF false THEN\n",
        f"{DROPPING}TestCorrections::"
        "test_the_database_refuses_it_to_code_that_knows_nothing_of_dropping",
    ),
    guard(
        "what is told of a dropped copy reaches its reader",
        "delivery/queue/ledger.py",
        " OR {_IS_DROPPED}",
        "",
        f"{DROPPING}TestWhatIsToldLater::"
        "test_a_bounce_reaches_its_reader_whatever_address_it_names",
    ),
    guard(
        "what is told of a dropped copy brings nobody back who was erased",
        "delivery/queue/provider_event.py",
        "        if readers.registered().reader_at(address) is None:\n",
        "        if False:\n",
        f"{DROPPING}TestWhatIsToldLater::test_what_is_told_of_somebody_who_was_erased_is_not_kept",
    ),
    guard(
        "a restored backup does not open what was dropped",
        "delivery/queue/identity.py",
        "        WHERE copies_dropped_at IS NULL\n              AND EXISTS (SELECT FROM batch",
        "        WHERE true\n              AND EXISTS (SELECT FROM batch",
        f"{DROPPING}TestWhatIsToldLater::test_a_restored_backup_does_not_open_it_again",
    ),
    constraint(
        "copies_are_dropped_only_of_what_is_over",
        "edition",
        "delivery/0019_only_what_is_over_is_dropped",
        f"{ROW}[copies_are_dropped_only_of_what_is_over]",
    ),
    guard(
        "the database itself holds: copies once dropped stay dropped",
        "migrations/delivery/0018_copies_may_be_dropped.py",
        "          AND OLD.copies_dropped_at IS NOT NULL)",
        "          AND false)",
        f"{ROW}[copies_once_dropped_stay_dropped]",
    ),
    guard(
        "prune counts nothing where nothing goes",
        "newsletter_site/management/commands/prune.py",
        "        if gone:\n",
        "        if True:\n",
        "tests/retention/test_what_prune_says_on_a_terminal.py::"
        "test_where_nothing_goes_nothing_is_counted",
    ),
]
