"""Guards of what the provider tells: once counted, in any order, and nobody brought back by it."""

from __future__ import annotations

from tests.guards.guard import guard

COPY = "tests/delivery/test_what_came_of_a_copy.py::"
READER = "tests/subscribers/test_what_the_provider_told.py::"
ASKING = "tests/delivery/test_asking_for_bounces_and_suppressions.py::"
PUSHING = "tests/delivery/test_pushing_suppressions.py::"
ASKED = "tests/delivery/test_what_is_asked_for.py::"
LISTS = "tests/delivery/test_long_suppression_lists.py::"
ENTRIES = "tests/delivery/test_suppression_dump.py::"
LEDGER = "delivery/queue/ledger.py"
TOLD = "subscribers/told.py"
FACTS = "delivery/told.py"
READING = "tests/delivery/test_told.py::"

GUARDS = [
    guard(
        "what came since is asked for from a little before",
        "delivery/polling.py",
        " - OVERLAP",
        "",
        f"{ASKED}test_after_that_what_came_since_is_asked_for_and_a_little_of_before",
    ),
    guard(
        "the first suppression list is asked for whole",
        "delivery/polling.py",
        "if since else {}",
        "if since else {'fromdate': '2026-01-01'}",
        f"{ASKED}test_the_first_time_all_is_asked_for_that_the_provider_remembers",
    ),
    guard(
        "a date is read in another zone",
        "delivery/polling.py",
        "since - timedelta(days=2)",
        "since + timedelta(days=2)",
        f"{ASKED}test_after_that_what_came_since_is_asked_for_and_a_little_of_before",
    ),
    guard(
        "a search that shows no more is gone on with by time",
        "delivery/polling.py",
        "            until = earlier\n",
        "            return new\n",
        f"{ASKED}test_what_a_search_does_not_show_is_asked_for_by_an_earlier_time",
    ),
    guard(
        "a walk over bounces comes to an end",
        "delivery/polling.py",
        "eastern(earlier) >= eastern(until)",
        "eastern(earlier) > eastern(until)",
        f"{ASKED}test_more_bounces_of_one_second_than_a_search_shows_are_said",
    ),
    guard(
        "the provider says when to ask again",
        "delivery/polling.py",
        "max(error.again_in_s or 0.0, _pause_s(mine.failures))",
        "_pause_s(mine.failures)",
        f"{ASKED}test_it_comes_back_when_the_provider_says_so",
    ),
    guard(
        "a worker that lost its errand takes nothing more in",
        "delivery/polling.py",
        "if self._is_stopping() or not errand.hold_on(self._mine, lease_s=lease_s):",
        "if self._is_stopping():",
        f"{ASKED}test_a_worker_that_lost_its_errand_takes_nothing_more_in",
    ),
    guard(
        "whoever finds nothing new looks up all the same",
        "delivery/polling.py",
        "        self._go_on()\n        return len(kept)",
        "        return len(kept)",
        f"{ASKED}test_a_worker_that_lost_its_errand_takes_nothing_more_in",
    ),
    guard(
        "a worker that is to stop leaves what is kept to the chores",
        "delivery/polling.py",
        "            self._go_on()\n            provider_event.apply(event)",
        "            provider_event.apply(event)",
        f"{ASKED}test_a_worker_that_is_to_stop_leaves_what_is_kept_to_the_chores",
    ),
    guard(
        "a list is held for as long as it may take to read",
        "delivery/polling.py",
        "lease_s=deadline_s + LEASE_S",
        "lease_s=LEASE_S",
        f"{ASKED}test_while_a_list_is_read_nobody_else_takes_the_errand",
    ),
    guard(
        "an entry that does not say since when is passed over",
        "delivery/polling.py",
        "if fact.at is not None]",
        "if True]",
        f"{ASKED}test_an_entry_that_does_not_say_since_when_is_passed_over",
    ),
    guard(
        "a suppression list is never held whole",
        "delivery/polling.py",
        "while piece := list(islice(entries, PAGE)):",
        "while piece := list(entries):",
        f"{LISTS}test_a_list_longer_than_any_other_answer_is_taken_in_and_never_held_whole",
    ),
    guard(
        "an answer without a list is not taken for an empty one",
        "delivery/suppression_dump.py",
        """    if not is_there:
        raise UnreadableError
""",
        "",
        f"{ENTRIES}test_anything_else_is_no_suppression_list",
    ),
    guard(
        "a worker that is to stop does not wait for the end of a list",
        "delivery/polling.py",
        """            if self._is_stopping():
                raise _InterruptedError
            try:
""",
        "            try:\n",
        f"{LISTS}test_a_worker_that_is_to_stop_does_not_wait_for_the_end_of_a_list",
    ),
    guard(
        "of a delivery's times the earliest stays",
        LEDGER,
        "(delivered_at IS NULL OR delivered_at > %(at)s)",
        "true",
        f"{COPY}test_a_delivery_is_written_beside_the_copy_with_the_earliest_time",
    ),
    guard(
        "a copy that came back is counted once",
        LEDGER,
        "WHERE {_COPY} AND {what}_at IS NULL AND NOT",
        "WHERE {_COPY} AND NOT",
        f"{COPY}test_a_bounce_is_counted_once_by_whichever_ways_it_is_told",
    ),
    guard(
        "a surge is counted from where a person resumed",
        "delivery/queue/surge.py",
        "sum(bounced) - watched_bounced,",
        "sum(bounced),",
        f"{COPY}test_what_a_person_resumed_is_not_paused_by_the_same_bounces_again",
    ),
    guard(
        "a copy in doubt has left as well",
        "delivery/queue/surge.py",
        "sum(sent + unknown + CASE",
        "sum(sent + CASE",
        f"{COPY}test_bounces_that_are_told_before_the_reply_are_of_copies_that_have_left",
    ),
    guard(
        "another try of the same event is known by its trace",
        "delivery/webhook.py",
        "provider_event.keep(body, trace)",
        "provider_event.keep(body, None)",
        f"{COPY}test_another_try_of_the_same_event_is_known_by_its_trace",
    ),
    guard(
        "what is older than an opt-in changes nothing",
        TOLD,
        "if reader.opted_in_at is not None and at <= reader.opted_in_at:",
        "if False:",
        f"{READER}test_what_is_older_than_their_own_opt_in_is_over",
    ),
    guard(
        "several bounces of one copy are one",
        TOLD,
        "count(DISTINCT (issue_id, version))",
        "count(*)",
        f"{READER}test_several_bounces_of_one_copy_are_one",
    ),
    guard(
        "a bounce of no copy of ours does not count",
        TOLD,
        " AND issue_id IS NOT NULL\n",
        "\n",
        f"{READER}test_a_bounce_of_no_copy_of_ours_does_not_count",
    ),
    guard(
        "what came back before the last opt-in does not count",
        TOLD,
        "              AND at > coalesce(%(since)s::timestamptz, '-infinity')\n",
        "              AND (true OR %(since)s::text IS NULL)\n",
        f"{READER}test_what_came_back_before_the_last_opt_in_does_not_count",
    ),
    guard(
        "a bounce of another kind does not count",
        TOLD,
        "type = ANY(%(types)s)",
        "(true OR type = ANY(%(types)s))",
        f"{READER}test_a_bounce_of_another_kind_does_not_count",
    ),
    guard(
        "an opt-in that is just being made is waited for",
        TOLD,
        "        FOR NO KEY UPDATE\n",
        "",
        f"{READER}test_what_is_older_than_an_opt_in_that_is_not_to_be_seen_yet_is_over_too",
    ),
    guard(
        "what is told again does not write the reader's row again",
        TOLD,
        "    if not (is_graver or has_left):\n",
        "    if False:\n",
        f"{READER}test_what_is_told_again_does_not_write_the_readers_row_again",
    ),
    guard(
        "of two times of leaving the earlier stays",
        TOLD,
        "THEN least(unsubscribed_at, %s)",
        "THEN coalesce(unsubscribed_at, %s)",
        f"{READER}test_of_two_times_of_leaving_the_earlier_stays",
    ),
    guard(
        "an old word of somebody of the account does not undo what an operator let in",
        TOLD,
        "held.lifted_by_id IS NULL AND excluded.reason <> %s",
        "held.lifted_by_id IS NULL OR excluded.reason = %s",
        f"{READER}test_letting_in_is_over_nothing_but_the_operators_own_word",
    ),
    guard(
        "letting in is over nothing but the operator's own word",
        TOLD,
        "           OR (held.lifted_by_id IS NULL AND excluded.reason <> %s)\n",
        "           OR (false AND excluded.reason <> %s)\n",
        f"{READER}test_letting_in_is_over_nothing_but_the_operators_own_word",
    ),
    guard(
        "a bounce without a number is kept once",
        TOLD,
        "WHERE %(bounce)s::text IS NOT NULL OR NOT EXISTS (",
        "WHERE true OR NOT EXISTS (",
        f"{READER}test_a_bounce_without_a_number_is_kept_once_as_well",
    ),
    guard(
        "once an address is said to be inactive its bounce says so",
        TOLD,
        "inactive = held.inactive OR excluded.inactive",
        "inactive = excluded.inactive",
        f"{READER}test_once_an_address_is_said_to_be_inactive_its_bounce_says_so",
    ),
    guard(
        "what is no address is no fact",
        FACTS,
        'fits and address.count("@") == 1 and " " not in address',
        'fits and address.count("@") == 1',
        f"{READING}test_what_names_no_address_or_no_known_matter_is_no_fact",
    ),
    guard(
        "an address beyond ASCII is no fact",
        FACTS,
        "LONGEST_ADDRESS and address.isascii() and",
        "LONGEST_ADDRESS and",
        f"{READING}test_what_names_no_address_or_no_known_matter_is_no_fact",
    ),
    guard(
        "no word is longer than its column",
        FACTS,
        "return value[:LONGEST_WORD] if",
        "return value if",
        f"{READING}test_no_word_or_sentence_is_longer_than_the_tables_hold_or_cannot_be_shown",
    ),
    guard(
        "an address is inactive only where it is said to be",
        FACTS,
        'inactive=event.get("Inactive") is True',
        'inactive=bool(event.get("Inactive"))',
        f"{READING}test_an_address_is_inactive_only_where_it_is_said_to_be",
    ),
    guard(
        "bounces far apart are not added up",
        TOLD,
        "AND soft.at >= latest.at - make_interval(days => %(days)s)) >= %(enough)s",
        "AND %(days)s > 0) >= %(enough)s",
        f"{READER}test_bounces_far_apart_are_not_added_up",
    ),
    guard(
        "an act is put on record once",
        TOLD,
        "AND act = %(act)s AND id > coalesce",
        "AND false AND act = %(act)s AND id > coalesce",
        f"{READER}test_an_act_is_put_on_record_once",
    ),
    guard(
        "an echo of our own wish is known as such",
        "delivery/queue/provider_event.py",
        'fact.origin == "Customer":',
        'fact.origin == "Nobody":',
        f"{PUSHING}test_an_echo_of_our_own_wish_says_nothing_new",
    ),
    guard(
        "only the last wish about an address is sent",
        "delivery/suppression_push.py",
        "    suppression_change.supersede()\n",
        "",
        f"{PUSHING}test_only_the_last_wish_about_an_address_is_sent",
    ),
    guard(
        "two workers are never on one errand",
        "delivery/queue/errand.py",
        "AND (lease_until IS NULL OR lease_until <= clock_timestamp())\n",
        "\n",
        f"{ASKING}test_two_workers_never_ask_at_once",
    ),
    guard(
        "a worker that lost its errand ends it for nobody else",
        "delivery/queue/errand.py",
        '            WHERE name = %s AND owner = %s\n            """,  # noqa',
        '            WHERE name = %s AND (owner = %s OR true)\n            """,  # noqa',
        f"{ASKING}test_what_a_lost_worker_held_another_takes_when_its_lease_is_over",
    ),
]
