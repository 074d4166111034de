"""Guards of what the provider tells: once counted, in any order, and nobody brought back by it."""

from tests.guards.notation import guards

GUARDS = guards(r"""
what came since is asked for from a little before
    _PollRun.__init__: «- OVERLAP»
    test_after_that_what_came_since_is_asked_for_and_a_little_of_before
the first suppression list is asked for whole
    _PollRun.suppressions: if since else {«→ 'fromdate': '2026-01-01'» }
    test_the_first_time_all_is_asked_for_that_the_provider_remembers
a date is read in another zone
    _PollRun.suppressions: since «- → +» timedelta(days=2)
    test_after_that_what_came_since_is_asked_for_and_a_little_of_before
a search that shows no more is gone on with by time
    _PollRun.bounces: «until = earlier → return new»
    test_what_a_search_does_not_show_is_asked_for_by_an_earlier_time
a walk over bounces comes to an end
    _PollRun.bounces: to_eastern(earlier) «>= → >» to_eastern(until)
    test_more_bounces_of_a_second_than_shown_are_said
the provider says when to ask again
    running: «max(error.retry_after_s or 0.0, backoff_s) → backoff_s»
    test_it_comes_back_when_the_provider_says_so
a worker that lost its lease takes nothing more in
    _PollRun._extend_lease: if self._is_stopping() «or not periodic_tasks.extend_lease(self._lease,
        lease_s=lease_s)»:
    test_a_worker_that_lost_its_lease_takes_nothing_more_in
whoever finds nothing new looks up all the same
    _PollRun._apply: «self._extend_lease()» return len(stored)
    test_a_worker_that_lost_its_lease_takes_nothing_more_in
a worker that is to stop leaves what is kept to the chores
    _PollRun._apply: «self._extend_lease()» event_inbox.apply(event)
    test_a_worker_that_is_to_stop_leaves_what_is_kept_to_the_chores
a list is held for as long as it may take to read
    _PollRun._download: lease_s=«deadline_s +» LEASE_S
    test_while_a_list_is_read_nobody_else_takes_the_task
an entry that does not say since when is passed over
    _PollRun._apply_entries: if «one.at is not None → True»]
    test_an_entry_that_does_not_say_since_when_is_passed_over
a suppression list is never held whole
    _PollRun.suppressions: while chunk := list(«islice(entries, PAGE_SIZE) → entries»):
    test_a_long_list_is_taken_in_and_never_held_whole
an answer without a list is not taken for an empty one
    _events: «if not is_there: raise UnreadableDumpError»
    test_anything_else_is_no_suppression_list
a worker that is to stop does not wait for the end of a list
    _PollRun._download.write: «if self._is_stopping(): raise TaskInterruptedError» try:
    test_a_worker_that_is_to_stop_does_not_wait_for_the_end_of_a_list
of a delivery's times the earliest stays
    record_delivered: _delivery(key).filter(«is_news»).update(delivered_at=at)
    test_a_delivery_is_written_beside_the_copy_with_the_earliest_time
a copy that came back is counted once
    count_feedback: WHERE {delivery} «AND {what}_at IS NULL» AND NOT
    test_a_bounce_told_several_times_is_counted_once
a surge is counted from where a person resumed
    pause_if_over_threshold: sum(bounced) «- watched_bounced»,
    test_the_same_bounces_pause_no_resumed_edition
a copy in doubt has left as well
    pause_if_over_threshold: SELECT sum(sent + «unknown +» CASE
    test_copies_in_doubt_have_left_too
another try of the same event is known by its trace
    _store_and_apply: event_inbox.store(body, «trace → None»)
    test_another_try_of_the_same_event_is_known_by_its_trace
what is older than an opt-in changes nothing
    _take_in: if «reader.opt_in is not None and at <= reader.opt_in.at → False»:
    test_what_is_older_than_their_own_opt_in_is_over
several bounces of one copy are one
    _soft_bounces_are_enough_at: count(«DISTINCT (issue_id, version) → *»)
    test_several_bounces_of_one_copy_are_one
a bounce of no copy of ours does not count
    _soft_bounces_are_enough_at: «AND issue_id IS NOT NULL»
    test_a_bounce_of_no_copy_of_ours_does_not_count
what came back before the last opt-in does not count
    _soft_bounces_are_enough_at: «at > coalesce( → (true OR»%(since)s::«timestamptz, '-infinity' →
        text IS NULL»
    test_what_came_back_before_the_last_opt_in_does_not_count
a bounce of another kind does not count
    _soft_bounces_are_enough_at: «type = ANY(%(types)s) → (true OR type = ANY(%(types)s))»
    test_a_bounce_of_another_kind_does_not_count
an opt-in that is just being made is waited for
    _lock_reader: Subscriber.objects«.select_for_update(no_key=True)»
    test_what_is_older_than_an_opt_in_that_is_not_to_be_seen_yet_is_over_too
what is told again does not write the reader's row again
    _change_state: if «changes → True»:
    test_what_is_told_again_does_not_write_the_readers_row_again
of two times of leaving the earlier stays
    _change_state: «Least → Coalesce»("unsubscribed_at", Value(at))
    test_of_two_times_of_leaving_the_earlier_stays
an old word of somebody of the account does not undo what an operator let in
    _suppress: held.lifted_by_id IS NULL «AND excluded.reason <> → OR excluded.reason =» %s
    test_letting_in_is_over_nothing_but_the_operators_own_word
letting in is over nothing but the operator's own word
    _suppress: OR («held.lifted_by_id IS NULL → false» AND excluded.reason <> %s)
    test_letting_in_is_over_nothing_but_the_operators_own_word
a bounce without a number is kept once
    _keep_bounce: WHERE «%(bounce)s::text IS NOT NULL → true» OR NOT EXISTS (
    test_a_bounce_without_a_number_is_kept_once_as_well
once an address is said to be inactive its bounce says so
    _keep_bounce: inactive = «held.inactive OR» excluded.inactive
    test_once_an_address_is_said_to_be_inactive_its_bounce_says_so
what is no address is no fact
    _address: fits and address.count("@") == 1 «and " " not in address»
    test_what_names_no_address_or_no_known_matter_is_no_fact
an address beyond ASCII is no fact
    _address: MAX_ADDRESS_LENGTH «and address.isascii()» and
    test_what_names_no_address_or_no_known_matter_is_no_fact
no word is longer than its column
    _word: return value«[:MAX_WORD_LENGTH]» if
    test_no_word_or_sentence_is_longer_than_the_tables_hold_or_cannot_be_shown
an address is inactive only where it is said to be
    _bounced: inactive=«event.get("Inactive") is True → bool(event.get("Inactive"))»
    test_an_address_is_inactive_only_where_it_is_said_to_be
bounces far apart are not added up
    _soft_bounces_are_enough_at: «soft.at >= latest.at - make_interval(days =>» %(days)s«) → > 0»)
    test_bounces_far_apart_are_not_added_up
an act is put on record once
    _record_act: «since.filter(act=act).exists() → False»
    test_an_act_is_put_on_record_once
an echo of our own wish is known as such
    _fact: fact.origin == "«Customer → Nobody»":
    test_an_echo_of_our_own_wish_says_nothing_new
only the last wish about an address is sent
    _send_all: «_pending().filter(later).update(state=SuppressionChange.State.SUPERSEDED,
        done_at=Now())»
    test_only_the_last_wish_about_an_address_is_sent
two workers are never on one task
    acquire: «AND (lease_until IS NULL OR lease_until <= clock_timestamp())»
    test_two_workers_never_ask_at_once
a worker that lost its lease ends it for nobody else
    _leased: filter(name=lease.name«, owner=lease.owner»)
    test_what_a_lost_worker_held_another_takes_when_its_lease_is_over
""")
