"""Guards of unsubscribing and erasing: both take full effect."""

from tests.guards.notation import guards

GUARDS = guards(r"""
an unsubscribe is applied and recorded once
    leave: filter(id=subscriber_id«, unsubscribed_at=None»)
    test_the_ledger_has_one_line_however_often_they_press
    test_an_earlier_time_of_leaving_is_kept
erasing removes address and name from every copy
    _NO_VALUES: for name in («"address", *FIELD_NAMES → FIELD_NAMES»)
    test_the_copies_of_every_issue_and_version_lose_address_and_name
erasing waits for a running publication
    erase: «wait_for_enqueues()» anonymise_recipient
    test_no_issue_that_is_being_published_names_who_is_erased
publishing blocks erasing until its copies are visible
    enqueue: «cursor.execute(LOCK_ENQUEUE)»
    test_no_issue_that_is_being_published_names_who_is_erased
a piece of an import blocks erasing until its rows are visible
    _apply_chunk: «cursor.execute(LOCK_ENQUEUE)» guard
    test_an_import_that_has_asked_already_who_was_erased_is_waited_for
erasing covers mails of a reader who never confirmed
    expire_pending: «anonymise_unconfirmed(deleted)»
    test_nothing_of_the_address_stays_anywhere
erasing checks once more after the reader's row is deleted
    erase: «anonymise_recipient(subscriber_id, key) delete_provider_data(key)»
    test_what_came_about_while_somebody_else_held_the_person_goes_too
a mail requested during an erasure loses its address
    erase: «anonymise_recipient(subscriber_id, key)» delete_provider_data(key)
    test_a_mail_that_they_were_just_asking_for_loses_their_address_too
a link of an erased reader restores nothing
    _state_and_record: return LinkState.«STALE → OPEN», None
    test_a_link_to_confirm_of_who_was_erased_is_too_old_and_brings_nothing_back
erasing does not wait for a process that applies an event
    _delete_events_about: WHERE address_key = ANY(%s) «FOR UPDATE SKIP LOCKED»
    test_an_event_that_is_just_being_applied_is_not_waited_for
a reason that quotes the address is erased with it
    _BLANK: strpos(lower(reason), address_key) > «0 → 9999»
    test_a_reason_that_quotes_the_address_goes_with_it
a refusal does not quote the address
    classify_message: return Failed(_quoted(code, «_ADDRESS.sub("…", text) → text»)
    test_a_refusal_of_the_address_does_not_write_it_back
late events about an erased reader are not stored
    _apply: if «reader is None and erased_among([event.address_key]) → False»:
    test_what_the_provider_tells_later_does_not_bring_the_address_back
a late Delivery event about an erased reader is not stored
    _apply: «_delete_if_erased(event_id, parsed.delivery, parsed.address_key, exists=exists)
        → pass»
    test_what_the_provider_tells_later_does_not_bring_the_address_back
an unblock lifts only the desk's own block
    _remaining_reason: if «blocked.reason != Reason.MANUAL and not opted_in_since → False»:
    test_letting_in_takes_back_the_desks_own_word_alone
an unblock undoes no event from the time of the block
    _remaining_reason: reasons = reported_reasons(reader)«→ [:0]»
    test_what_is_told_of_an_address_that_is_shut_out_stands_once_it_is_let_in
the most severe of several events applies after an unblock
    _remaining_reason: return «max → min»(reasons, key=
    test_of_several_the_gravest_stands
an unblock does not restore what an opt-in has lifted
    reported_reasons: id__gt=«reader.opt_in_id or» 0
    test_what_their_own_opt_in_answered_does_not_come_back
nor what the suppression list kept beside an operator's block
    _remaining_reason: = «reader.opt_in is not None and reader.opt_in.at >= blocked.at → False»
    test_what_their_own_opt_in_answered_does_not_come_back
the provider is not asked to mail an address that stays suppressed
    unblock: «elif reader.state == Subscriber.State.CONFIRMED → else»:
    test_the_provider_is_not_asked_to_mail_whom_letting_in_makes_no_reader
a search without an index is ended by the database
    load_page: «cursor.execute(f"SET LOCAL statement_timeout = '{SEARCH_S}s'") → cursor.execute("SET
        LOCAL statement_timeout = '10s'")¶cursor.execute("SET LOCAL lock_timeout = '9s'")»
    test_a_search_that_takes_too_long_is_ended_and_says_what_finds_sooner
""")
