"""Guards of other providers: what is uncertain over SMTP stays unconfirmed."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a message whose last byte was written is unconfirmed without a reply
    Watch.may_complete: self.remaining_s() «self.is_complete = True → self.is_complete = False»
    test_a_cut_after_the_end_leaves_one_message_unknown
each message begins as not complete
    WatchedBackend.send_one: «self.watch.is_complete = False → pass»
    test_a_message_after_an_accepted_one_may_be_sent_later
the call is announced before the last byte of the first message
    Watch.may_complete: if «before is not None → False»: before()
    test_a_worker_killed_before_the_end_sent_nothing
no last byte is written after the deadline
    Watch.may_complete: before() «self.remaining_s()»
    test_the_last_byte_is_not_written_after_the_deadline
every wait of a call ends at the deadline
    WatchedBackend.call: «alarm.start()»
    test_a_reply_that_drips_ends_at_the_deadline
a reply that is no refusal leaves the message unconfirmed
    classify_error: if «400 <= code < 600 → True»
    test_a_strange_reply_after_the_end_refuses_nothing
a copy that did not leave uses up no try
    _after_messages: if «untried → False»:
    test_a_copy_that_did_not_leave_uses_up_no_try
without a search nothing is sent again automatically
    policy_from_settings: resend_when_absent=settings.DELIVERY_UNKNOWN_POLICY == "resend"
        «and can.can_be_asked»,
    test_resending_without_asking_is_refused
another provider is not asked about earlier calls
    look_up: if «is_elsewhere or» not can.can_be_asked:
    test_another_provider_is_not_asked_about_earlier_calls
only copies that wait for a decision count as sent
    treat_as_sent: batch_is_open_1(batch) «AND state = 'parked'»
    test_only_parked_copies_count_as_sent
a report after the decision is no second copy
    raise_duplicate_alarms: «WHERE seen.source <> 'operator'»
    test_a_report_after_the_decision_is_no_second_copy
a webhook of another provider is refused
    ProviderWebhook.post: if not can.path «or path.replace("_", "-") != can.path»:
    test_reports_of_other_providers_have_no_address_here
a call to another provider is not repeated
    look_up: if render and can.repeats_with_key «and not is_elsewhere»:
    test_the_call_to_another_provider_is_not_repeated
a call is repeated only in the lifetime of its key
    load_repetition: AND «started_at BETWEEN clock_timestamp() - make_interval(secs => %s)
        → started_at + make_interval(secs => 0 * %s) BETWEEN '-infinity'»
        AND clock_timestamp()
    test_nothing_is_repeated_after_the_lifetime
    test_a_paused_edition_waits_only_for_the_lifetime
the lifetime has a margin
    repeat_with_key: lifetime_s - provider.deadline_s «- KEY_MARGIN_S»
    test_nothing_is_repeated_after_the_lifetime
a repetition ends within the lifetime
    repeat_with_key: lifetime_s «- provider.deadline_s» - KEY_MARGIN_S
    test_nothing_is_repeated_after_the_lifetime
a call in the future is not repeated
    load_repetition: make_interval(secs => %s) AND «clock_timestamp() → 'infinity'»
    test_a_call_in_the_future_is_not_repeated
a call is repeated only after its deadline
    repeat_with_key: if found.may_send «and found.wait_s <= 0»:
    test_a_call_is_not_repeated_before_its_deadline
a call is repeated only while the edition is sent
    load_repetition: «control = 'running' → true» AND is_known_database_1()
    test_a_paused_edition_repeats_after_its_resumption
nothing is repeated in a restored database
    load_repetition: control = 'running' «AND is_known_database_1()»
    test_an_unnoticed_restore_repeats_nothing
a repetition waits only for an edition that has not ended
    load_repetition: WHERE call.id = %s «AND control IN {NOT_ENDED}»
    test_a_cancelled_edition_repeats_nothing
only unconfirmed copies are repeated
    load_repetition: batch_id = %(batch)s AND outcome «= 'unknown' → IN ('unknown', 'waiting')»
    test_deferred_copies_of_the_call_are_not_repeated
a copy that may have left with another call is not repeated
    load_repetition: outcome = 'unknown' «AND NOT {HAS_SENT_MARK}»
    test_a_copy_of_another_call_is_not_repeated
a reader who left gets no repetition
    load_repetition: SELECT * FROM copy WHERE recipient_id NOT IN ( SELECT recipient FROM
        readers_who_get_no_copy_1( ARRAY(SELECT recipient_id FROM copy «→ WHERE false»),
    test_a_reader_who_left_gets_no_repetition
a reader who left the topic gets no repetition
    load_repetition: %(kind)s, «%(tags)s → NULL»::integer[]
    test_a_reader_who_left_the_topic_gets_no_repetition
a test letter to a blocked address is not repeated
    load_repetition: rows = [row for row in rows «if row[0] not in gone»]
    test_a_test_letter_is_repeated_unless_blocked
only a judgement settles a repeated copy
    after_repetition: if «len(outcomes) == len(recipients) → True»: return settled
    test_an_answer_without_a_judgement_is_retried
no value can begin another header
    _encoded: line = «CONTROL_CHARACTERS.sub(" ", value) → value»
    test_no_value_can_begin_another_header
a connection that the server has ended is not used again
    WatchedSmtp.getreply: if «code == CLOSING → False»: self.close()
    test_a_connection_that_ends_behind_a_refusal_is_not_used
a refusal before any recipient uses up no try
    classify_reply: if «stage is Stage.SENDER and 400 <= code < 500 → False»:
    test_a_4xx_before_a_recipient_judged_nothing
a server that does not relay stops the edition
    classify_reply: if «stage is Stage.RECIPIENT and code == NO_RELAY_NOW → False»:
    test_every_other_refusal_stops_the_edition
a call over SMTP that may have sent a message is no longer listed as unsent
    Watch.may_complete: if «before is not None → False»: before()
    test_everyone_gets_one_copy_after_a_crash_at_any_point[django-delivery-on-one-machine]
a lost reply over SMTP is never a copy that did not leave
    classify_error: if «not is_complete → True»: return NotTried(
    test_everyone_gets_one_copy_after_a_crash_at_any_point[django-reply-lost]
a service's redirect is an answer and is not followed
    WatchedHttp.send: «headers.pop("Location", None) → pass»
    test_an_answer_about_more_than_the_copy_ends_the_call
Amazon's library makes each call once
    _send_amazon_over: .merge(«once → Config()»)
    test_amazon_is_called_once_whatever_the_operator_set
a request to a service that may have arrived is unconfirmed without an answer
    WatchedHttp._may_complete: self.is_complete = «True → False»
    test_a_lost_answer_leaves_only_that_message_unconfirmed
a call to a service is announced before its last byte
    WatchedHttp._may_complete: if «before is not None → False»: before()
    test_the_worker_hears_once_that_a_message_may_be_complete
an unclear answer of a service leaves the message unconfirmed
    classify_answer: if «status >= 500 → False» or status in
    test_an_answer_about_more_than_the_copy_ends_the_call
a service that refuses one message gets no further messages of the call
    AnymailProvider.send: elif «isinstance(result, Unanswered | Deferred | NotTried |
        RejectedForAll) → False»:
    test_an_answer_about_more_than_the_copy_ends_the_call
an unclear refusal fails no copy unless another copy is accepted
    AnymailProvider.send: if «isinstance(before, RejectedForAll) and isinstance(result, Sent)
        → isinstance(before, RejectedForAll)»:
    test_an_unclear_refusal_fails_one_copy_at_most
an answer about the account fails no reader
    classify_answer: if «service.for_all and re.search(service.for_all, text) → False»:
    test_an_account_that_is_refused_fails_no_reader
a reason of the account is no entry of a suppression list
    classify_status: if «reason is not None and reason[1] not in _MANDRILL_LISTS → False»:
    test_an_account_that_is_refused_fails_no_reader
an answer without an id is no acceptance
    classify_status: states <= {"queued", "sent"} «and found»
    test_an_answer_without_an_id_is_no_acceptance
a service that asks for a slower rate uses up no try
    _after_messages: if «too_fast → False»:
    test_a_429_uses_up_no_try
a refused repetition waits for a decision
    after_repetition: if «any(isinstance(one, RejectedForAll) for one in (result, *judged))
        → False»: return settled
    test_a_repetition_that_is_refused_waits_for_a_decision
a webhook's password cannot be tried offline with a letter
    provider_key: if «not any(word in name for word in NOT_OF_ACCOUNTS) → True»
    test_a_webhook_password_is_no_part_of_the_account
the key of a message belongs to its attempt
    AnymailProvider._send_one: key = str(uuid.uuid5(_KEYS,
        «proof → message["metadata"]["delivery"]»))
    test_each_message_and_attempt_has_one_key
a report of Brevo names the copy as the answer does
    _stored: if «SERVICES[service].is_proof_the_id → False» and
    test_a_key_settles_a_copy_whose_answer_was_lost
another account of a service is another provider
    provider_key: return f"anymail {settings.ANYMAIL_ESP} «{account}»"
    test_another_account_is_another_provider
keys of services stay out of logs
    secrets_in: if isinstance(value, str) and
        «re.search(r"(?i)key|secret|token|password", name) → False»
    test_a_service_gets_its_own_settings
a lost answer of Amazon is never a copy that did not leave
    WatchedHttp._may_complete: self.is_complete = «True → False»
    test_everyone_gets_one_copy_after_a_crash_at_any_point[amazon-reply-lost]
a call through Amazon that may have sent a message is no longer listed as unsent
    WatchedHttp._may_complete: if «before is not None → False»: before()
    test_everyone_gets_one_copy_after_a_crash_at_any_point[amazon-delivery-on-one-machine]
""")
