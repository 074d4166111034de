"""Guards of signing up: one answer for all, limits, confirmed by POST only."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- One answer for all ---
a known address gets the same answer as a new one
    sign_up: «→ if reader.state != "pending":¶    return 1¶» detail = TOO_FAST
    test_the_answer_is_the_same_whoever_the_address_belongs_to
an address at its daily limit gets the same answer
    ask_for_mail: = _next_number(reader, COUNTERS[kind]) «→ ¶if number == NOT_MAILED:¶
        raise LookupError»
    test_the_answer_is_the_same_whoever_the_address_belongs_to
requests without a mail count for their network
    ask_for_mail: = _next_number(reader, COUNTERS[kind]) «→ ¶if number == NOT_MAILED:¶    return»
    test_requests_that_no_mail_answered_count_too
a program gets the same answer as others
    subscriptions: return «_asked(request) → form_page(request, form, status=422)» if not
        form.is_valid()
    test_a_program_that_fills_in_every_field_is_told_the_same_and_nothing_happens

# --- Limits ---
the number of mails per address and day is limited
    ask_for_mail: if «number != NOT_MAILED → True»: request_mail
    test_an_address_gets_so_many_mails_a_day_and_then_none_with_the_same_answer
the limit of an address is the setting
    _next_number: >= «settings.SIGN_UP_MAILS_PER_DAY → 3»:
    test_an_address_gets_so_many_mails_a_day_and_then_none_with_the_same_answer
a day later an address gets mail again
    _mails_within_a_day: > 0 AND «at > clock_timestamp() - make_interval(secs => %s) → %s > 0»
    test_an_address_gets_so_many_mails_a_day_and_then_none_with_the_same_answer
simultaneous sign-ups of one address are numbered in order
    _locked_reader: of_this_address.«select_for_update().»first()
    test_sign_ups_of_one_address_at_once_are_each_answered_with_a_mail_of_their_own
the number of requests per network and hour is limited
    sign_up: is_suspicious) if «wait → False»:
    test_the_eleventh_has_to_wait_and_keeps_its_text
each network has its own count
    seconds_until_turn: WHERE network «= %s → >= left(%s, 0)» AND at
    test_another_network_is_not_held_up
simultaneous sign-ups of one network are counted in order
    seconds_until_turn: «cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_lock_id(network)])»
    test_of_twenty_sign_ups_of_one_network_at_once_ten_are_let_through
no visitor waits longer than an hour, whatever the clock did
    _until_fewer_than: return «min(HOUR_S, max(1 → max(1, min(9_999_999»,
    test_nobody_ever_waits_longer_than_an_hour
a visitor's own header about their network is ignored
    network_of: if «settings.TRUST_PROXY → True» else
    test_what_a_visitor_says_of_their_address_is_not_believed
behind a proxy only the proxy's header counts
    network_of: .«rpartition(",")[2] → partition(",")[0]»
    test_behind_a_proxy_the_address_that_it_added_counts

data requests count for their network before a worker has answered
    seconds_until_turn: FROM data_request «→ WHERE false») AS asked
    test_a_network_asks_so_often_an_hour
an unknown address counts for its network
    _count_for_the_network: if «network → False»:
    test_a_network_asks_so_often_an_hour

# --- Data requests ---
a request costs the same for every address
    store_request: if not wait«→  and
        Subscriber.objects.filter(email_key=address.lower()).exists()»:
    test_a_form_costs_the_same_for_every_address
a request that fails is rolled back completely
    _try_to_answer: «with transaction.atomic() → if True»:
    test_a_request_that_fails_waits_and_holds_up_nobody
a request that fails too often is set aside
    has_waiting_requests: filter(«failures__lt=MAX_FAILURES»)
    test_a_request_that_fails_waits_and_holds_up_nobody
a worker that drains the queue answers data requests first
    is_any_due: return «any(short) or»
    test_a_request_that_fails_waits_and_holds_up_nobody
a waiting data request is erased with its address
    erase: «DataRequest.objects.filter(email_key=key).delete()»
    test_a_request_that_waits_is_erased_with_its_address

# --- Programs ---
a program that fills in the hidden field signs nobody up
    subscriptions: if «form.is_trapped → False»:
    test_a_program_that_fills_in_every_field_is_told_the_same_and_nothing_happens
forms that return immediately have fewer tries
    seconds_to_wait: if «suspicious → False»:
    test_forms_that_came_back_too_fast_have_fewer_tries
    test_forms_that_come_back_in_no_time_are_let_through_three_times
the immediate return of a form is recorded
    sign_up: detail=«TOO_FAST if is_suspicious else»
    test_forms_that_come_back_in_no_time_are_let_through_three_times
no visitor can invent the time at which a form was shown
    SignUpForm.seconds_filling_in: float(«_SIGNER.unsign(self.data["shown"]) →
        self.data["shown"].partition(":")[0] or "nan"»)
    test_a_moment_that_we_never_sealed_counts_as_no_time
a form on another site signs nobody up without a click
    embedded: «return form_page(request, prefilled_form(request.POST), notice="embedded") → return
        subscriptions(request)»
    test_it_changes_nothing_and_shows_our_page_filled_in

# --- All of it or nothing ---
the confirmation mail is queued in the sign-up's transaction
    ask_for_mail: «→ __import__("django.db").db.transaction.on_commit(lambda:» request_mail(kind,
        number, [(reader.pk, reader.email)], ahead=True)«→ )»
    test_the_same_transaction_holds_the_sign_up_its_record_and_its_mail
a typed name is in no mail before the reader confirms
    sign_up: «→ Subscriber.objects.filter(pk=reader.pk).update(**values)¶» detail = TOO_FAST
    test_a_name_typed_beside_a_known_address_changes_nothing_until_they_confirm

# --- Confirming ---
GET confirms nobody
    confirm: if «request.method != "POST" → False»: return link_page
    test_a_scanner_that_follows_links_confirms_nobody
another site cannot send the confirmation
    confirm: @ «→ __import__("django.views.decorators.csrf",
        fromlist=["csrf_exempt"]).csrf_exempt¶@» require_http_methods
    test_another_site_cannot_press_the_button
one of several simultaneous confirmations is recorded
    open_link: Subscriber.objects.«select_for_update() → all()» if consent
    test_of_presses_at_once_one_is_put_on_record_and_all_see_the_same_page
a link confirms only by its own recorded request
    _state_and_record: act__in=[Act.ASKED, Act.IMPORTED]«, request=request»)
    test_a_link_whose_request_is_not_on_record_confirms_nobody
a link from before an unsubscribe does not undo it
    link_state: asked_themselves «and asked.at >= gone_at»
    test_only_their_own_request_after_they_went_brings_back
another person's request does not undo an unsubscribe
    link_state: «asked_themselves and» asked.at >= gone_at
    test_only_their_own_request_after_they_went_brings_back
a request without a mail has no link
    _state_and_record: if reader is None «or request < 1»:
    test_a_request_that_was_not_mailed_makes_no_old_link_new
an earlier link shows the same after a later one confirmed
    link_state: not None and request «<= → ==» last_confirmed
    test_an_earlier_link_says_the_same_once_a_later_one_confirmed
no token is valid for another's purpose
    purpose_key: digest_size=32«, person=purpose.encode()»).digest()
    test_no_token_does_what_another_was_made_for
a changed token is invalid
    unseal: if «hmac.compare_digest(tag, _tag(key, payload)) → True»:
    test_a_token_with_any_character_changed_is_none_of_ours

# --- Deleting readers who never confirmed ---
only readers who never confirmed are deleted
    NOT_CONFIRMED: «state = 'pending' → true»
    test_expire_unconfirmed::test_nobody_else_is
no reader is deleted before their time
    IS_TOO_OLD: AND «created_at < now() - make_interval(days => %s) → %s > 0»
    test_an_imported_person_who_never_answered_is_forgotten_too
a reader who asked again meanwhile is not deleted
    NOT_CONFIRMED: now() «- → +» make_interval(days => %s))
    test_it_counts_from_the_latest_request
a reader who signed up just before the row lock is not deleted
    expire_pending: WHERE id = ANY(%s) «AND {NOT_CONFIRMED} → AND %s > 0»
    test_who_signed_up_again_just_before_their_row_was_locked_is_not_forgotten
""")
