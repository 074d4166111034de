"""Guards of unsubscribing and erasing: both take full effect."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a provider's text is stored without addresses
    read_text: redacted = «redact_addresses(value[:MAX_READ], REDACTED) → value[:MAX_READ]»
    test_a_reply_that_quotes_an_address_is_stored_without_it
the beginning of an address is not kept at the end of a long text
    read_text: redacted = «redacted[:-MAX_LOCAL_PART] → redacted»
    test_a_cut_text_keeps_no_part_of_an_address
an unsubscribe is applied and recorded once
    leave: filter(id=subscriber_id«, unsubscribed_at=None»)
    test_repeated_unsubscribes_are_recorded_once
    test_the_first_time_of_unsubscribing_is_kept
an operator's unsubscribe counts for no issue
    leave: if «how != How.OPERATOR → True»:
    test_late_or_operators_unsubscribes_count_for_no_issue
only an unsubscribe counts as one in the results of an issue
    _record_act: if «act is Act.LEFT → True»:
    test_repeated_deliveries_and_returns_count_once
GET changes no topics
    preferences: elif «request.method == "POST" → True»
    test_opening_the_page_changes_nothing
a topic that the reader leaves stays left
    CHOOSE: tags_with_1(tags_without_1(reader.left_topics, joined), '{}', «abandoned → '{}'»)
    test_leaving_and_choosing_topics_is_recorded
readers choose topics only, not other tags
    preferences: request.POST.getlist("shown")) «& {topic.pk for topic in topics}»
    test_the_choice_covers_only_topics_on_the_page
a choice of topics sees the result of a simultaneous one
    CHOOSE: unsubscribed_at IS NULL «FOR UPDATE»
    test_a_choice_waits_for_another_and_sees_its_result
the link to choose topics does not unsubscribe
    read: unseal(«purpose → UNSUBSCRIBE», token, NUMBER_BYTES)
    test_links_for_another_purpose_or_no_reader_show_no_topics
erasing removes address and name from every copy
    _NO_VALUES: for name in («"address", *FIELD_NAMES → FIELD_NAMES»)
    test_all_copies_of_an_erased_reader_lose_address_and_name
erasing waits for a running publication
    erase: «wait_for_enqueues()» anonymise_recipient
    test_a_concurrent_publication_excludes_an_erased_reader
publishing blocks erasing until its copies are visible
    enqueue: «cursor.execute(LOCK_ENQUEUE)»
    test_a_concurrent_publication_excludes_an_erased_reader
a piece of an import blocks erasing until its rows are visible
    _apply_chunk: «cursor.execute(LOCK_ENQUEUE)» running
    test_erasure_waits_for_an_import_that_read_erased_addresses
erasing covers mails of a reader who never confirmed
    expire_pending: «anonymise_unconfirmed(deleted)»
    test_expiry_removes_the_address_everywhere
erasing checks once more after the reader's row is deleted
    erase: «anonymise_recipient(subscriber_id, key) delete_provider_data(key)»
    test_erasure_includes_rows_added_while_it_waited_for_the_lock
a mail requested during an erasure loses its address
    erase: «anonymise_recipient(subscriber_id, key)» delete_provider_data(key)
    test_erasure_includes_a_mail_that_is_being_requested
a link of an erased reader restores nothing
    _state_and_record: return LinkState.«STALE → OPEN», None
    test_a_confirmation_link_of_an_erased_reader_is_too_old
erasing does not wait for a process that applies an event
    _delete_events_about: WHERE address_key = ANY(%s) «FOR UPDATE SKIP LOCKED»
    test_erasure_does_not_wait_for_an_event_being_applied
a reason that quotes the address is erased with it
    _BLANK: strpos(lower(reason), address_key) > «0 → 9999»
    test_erasure_removes_reasons_that_quote_the_address
late events about an erased reader are not stored
    _apply: if «reader is None and erased_among([event.address_key]) → False»:
    test_later_provider_events_do_not_restore_an_erased_address
a late Delivery event about an erased reader is not stored
    _apply: «_delete_if_erased(event_id, delivery, parsed.address_key)
        → pass»
    test_later_provider_events_do_not_restore_an_erased_address
an unblock lifts only the desk's own block
    _remaining_reason: if «blocked.reason != Reason.MANUAL and not opted_in_since → False»:
    test_unblocking_lifts_only_the_desks_own_block
an unblock undoes no event from the time of the block
    _remaining_reason: reasons = reported_reasons(reader)«→ [:0]»
    test_events_about_a_blocked_address_count_after_unblocking
the most severe of several events applies after an unblock
    _remaining_reason: return «max → min»(reasons, key=
    test_the_most_serious_of_several_reasons_is_kept
an unblock does not restore what an opt-in has lifted
    reported_reasons: id__gt=«reader.opt_in_id or» 0
    test_events_before_an_opt_in_do_not_return
an unblock does not restore an older suppression that an opt-in has lifted
    _remaining_reason: = «reader.opt_in is not None and reader.opt_in.at >= blocked.at → False»
    test_events_before_an_opt_in_do_not_return
the provider is not asked to mail an address that stays suppressed
    unblock: «elif reader.state == Subscriber.State.CONFIRMED → else»:
    test_unblocking_reactivates_only_confirmed_readers
erasing empties every own field of a copy
    _NO_VALUES: «"fields = NULL" → "fields = fields[1:1]"»
    test_erasure_removes_every_value_of_every_own_field
""")
