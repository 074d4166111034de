"""Guards of look-ups: acceptances are found; an early empty search proves nothing."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a failed look-up gives no information
    after_lookup: reason=result.reason«→ , confirmed_absent=True»,
    test_failed_search_never_counts_as_absence
    test_failed_look_up_does_not_count
silence is believed only at the end of the schedule
    after_lookup: elif «history.lookups + 1 < len(policy.lookup_after_s) → False»:
    test_each_absence_leads_to_the_next_look_up
silence before the first time of the schedule gives no information
    after_lookup: elif «early_s > 0 → False»:
    test_absence_before_the_schedule_begins_does_not_count
    test_silence_about_a_lost_call_counts_from_its_deadline
the next look-up keeps to the schedule
    after_lookup: lookup_after_s=«after → policy.lookup_after_s[0]»,
    test_each_absence_leads_to_the_next_look_up
silence gives no information while later mail is hidden
    after_lookup: elif «later_mail is LaterMail.HIDDEN → False»:
    test_silence_never_counts_while_later_mail_is_hidden
silence gives no information while the check mail is hidden
    after_lookup: elif «later_mail is LaterMail.CHECK_MAIL_HIDDEN → False»:
    test_silence_never_counts_while_later_mail_is_hidden
    test_search_later_than_the_schedule_causes_no_second_copy
the last silence counts only with later mail
    after_lookup: elif «later_mail is LaterMail.NONE → False»:
    test_the_last_silence_counts_only_with_later_mail
    test_silence_without_accepted_check_mail_needs_a_decision
an author or operator decides if later mail is missing for long
    _wait_for_later_mail: if «waited_s >= policy.longest_wait_s → False»:
    test_unproved_silence_is_left_to_an_author_or_operator
silence is compared with later mail
    _search_all: if «isinstance(shown, SearchAnswered) and shown.found → True»:
    test_an_empty_result_of_a_lagging_search_does_not_count
    test_search_later_than_the_schedule_causes_no_second_copy
later mail is searched first
    _search_all: «→ result = _search(attempt, context, search)¶» later_mail = LaterMail.NONE if
        later is not None: field_name = CHECK_FIELD if later.is_check_mail else ATTEMPT_FIELD
        shown = search(field_name, later.attempt.hex) if isinstance(shown, SearchAnswered) and
        shown.found:
        later_mail = LaterMail.SHOWN elif later.is_check_mail: later_mail =
        LaterMail.CHECK_MAIL_HIDDEN else: later_mail = LaterMail.HIDDEN return later_mail,
        «_search(attempt, context, search) → result»
    test_index_updated_between_two_queries_proves_no_absence
a failed search for later mail confirms nothing
    _search_all: if isinstance«(shown, SearchAnswered) and → (shown, SearchFailed) or» shown.found:
    test_a_failed_search_for_later_mail_proves_nothing
the search is repeated after the check mail
    look_up: later_mail, «result → _» = _search_all(attempt, context, later, search)
        shown =
    test_a_copy_indexed_with_the_check_mail_is_found
only mail accepted later is later mail
    _load_later: AND «started_at > %(since)s → (started_at > %(since)s OR true)» AND accepted > 0
    test_finding_earlier_mail_does_not_prove_absence
only mail on the same stream is later mail
    _load_later: WHERE «stream = %(stream)s AND» started_at > %(since)s
    test_later_mail_on_another_stream_proves_nothing
only copies on the same stream are later mail
    _load_later: WHERE «stream = %(stream)s AND» started_at > %(deadline)s
    test_later_mail_on_another_stream_proves_nothing
copies prove more than a check mail
    _load_later: accepted > 0 «AND batch_id <> %(no_batch)s» AND started_at
    test_copies_prove_more_than_a_check_mail
mail from before the clock was set back is not later mail
    _load_later: batch_id <> %(no_batch)s «AND started_at <= statement_timestamp()» ORDER BY
    test_mail_before_the_clock_was_set_back_is_not_later
check mail from before the clock was set back is not later mail
    _load_later: accepted > 0 «AND started_at <= statement_timestamp()» ORDER BY
    test_mail_before_the_clock_was_set_back_is_not_later
check mail is sent after the deadline of the call
    load_lookup_context: may_check=«now > since → True»,
    test_check_mail_waits_for_the_deadline_of_the_call
check mail is sent where nothing was accepted later
    look_up: if ( «later is None → False» and
    test_absent_call_is_resent_after_the_last_look_up
silence about mail that the provider has forgotten gives no information
    after_lookup: if «forgotten → False»:
    test_forgotten_unknown_copies_need_a_decision
the provider's retention time is known
    look_up: forgotten=«context.is_forgotten → False»,
    test_unknown_copies_past_retention_need_a_decision
with the policy `hold` an author decides
    after_lookup: elif «not policy.resend_when_absent → False»:
    test_held_copies_are_not_resent_without_a_decision
absent copies have a limited number of tries
    _after_absence: if «history.tries + 1 >= policy.max_tries → False»: failed
    test_last_look_up_fails_absent_and_sends_found_copies
a copy that cost two workers alone is parked
    _after_absence: elif «suspected and alone → False»:
    test_batch_with_two_crashes_is_halved_and_parked
a batch that cost two workers during their calls is halved
    _after_absence: Next.«HALVE if suspected and len(absent) > 1 else Next.»TRY_AGAIN,
    test_batch_with_two_crashes_is_halved_and_parked
a batch is suspected after two lost workers
    _requeue: elif crashes «< → <=» CRASHES_BEFORE_SUSPICION:
    test_copy_that_crashes_workers_is_found_by_halving_and_parked
further copies that a look-up finds become evidence
    after_lookup: decided.outcomes}«, duplicates=duplicates»)
    test_duplicate_is_reported_with_unknown_copies
results about other deliveries change nothing
    _found: if recipient is None: «continue → recipient = -1»
    test_results_of_other_deliveries_are_ignored
an unconfirmed batch without an attempt is looked up by delivery keys
    _search: if isinstance(result, SearchFailed): «return result → continue»
    test_failed_search_by_key_proves_nothing
evidence is found at the next look-up
    why: A process that ends a lease applies the recorded evidence.
    _search: for each in «context.kept → ()»}
    _settle.settle_in: unapplied «= unapplied_evidence(cursor, claim.batch) → : list[int] = []»
    test_recorded_evidence_settles_at_the_next_look_up
""")
