"""Guards of signing up: one answer for all, limits, confirmed by POST only."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- One answer for all ---
a known address gets the same answer as a new one
    sign_up: «→ if reader.state != "pending":¶    return 1¶» detail = TOO_FAST
    test_the_answer_does_not_depend_on_the_address
an address at its daily limit gets the same answer
    ask_for_mail: = _next_number(reader, COUNTERS[kind]) «→ ¶if number == NOT_MAILED:¶
        raise LookupError»
    test_the_answer_does_not_depend_on_the_address
a program gets the same answer as others
    _sign_up: return «_asked(request) → form_page(request, form, status=422)» if not
        form.is_valid()
    test_a_program_in_the_honeypot_gets_the_usual_answer

# --- Limits ---
the number of mails per address and day is limited
    ask_for_mail: if «number != NOT_MAILED → True»: request_mail
    test_mails_per_day_are_limited_without_a_different_answer
the limit of an address is the setting
    _next_number: >= «settings.SIGN_UP_MAILS_PER_DAY → 3»:
    test_mails_per_day_are_limited_without_a_different_answer
simultaneous sign-ups of one address are numbered in order
    _locked_reader: of_this_address.«select_for_update().»first()
    test_concurrent_sign_ups_of_one_address_get_separate_mails
the number of requests per network and hour is limited
    sign_up: is_suspicious) if «wait → False»:
    test_the_eleventh_sign_up_waits_and_keeps_its_text
each network has its own count
    seconds_until_turn: WHERE network «= %s → >= left(%s, 0)» AND at
    test_another_network_is_not_limited
simultaneous sign-ups of one network are counted in order
    seconds_until_turn: «cursor.execute(_LOCK, [f"sign-up {network}"])»
    test_concurrent_sign_ups_of_a_network_are_limited
a visitor's own header about their network is ignored
    network_of: if «settings.TRUST_PROXY → True» else
    test_without_a_proxy_the_network_comes_from_the_connection
behind a proxy only the proxy's header counts
    network_of: .«rpartition(",")[2] → partition(",")[0]»
    test_behind_a_proxy_the_network_is_the_proxys_entry

data requests count for their network before a worker has answered
    seconds_until_turn: FROM data_request «→ WHERE false») AS asked
    test_requests_of_a_network_are_limited_per_hour
an unknown address counts for its network
    _count_for_the_network: if «network → False»:
    test_requests_of_a_network_are_limited_per_hour

# --- Data requests ---
a request costs the same for every address
    store_request: if not wait«→  and
        Subscriber.objects.filter(email_key=address.lower()).exists()»:
    test_a_form_costs_the_same_for_every_address
a waiting data request is erased with its address
    erase: «DataRequest.objects.filter(email_key=key).delete()»
    test_a_waiting_request_is_erased_with_its_address

# --- Programs ---
a program that fills in the hidden field signs nobody up
    _sign_up: if «form.is_trapped → False»:
    test_a_program_in_the_honeypot_gets_the_usual_answer
forms that return immediately have fewer tries
    seconds_to_wait: if «suspicious → False»:
    test_fast_forms_have_fewer_attempts
    test_fast_forms_are_accepted_three_times
the immediate return of a form is recorded
    sign_up: detail=«TOO_FAST if is_suspicious else»
    test_fast_forms_are_accepted_three_times
no visitor can invent the time at which a form was shown
    SignUpForm.is_too_fast: float(«_SIGNER.unsign(self.data["shown"]) →
        self.data["shown"].partition(":")[0] or "nan"»)
    test_a_forged_time_counts_as_too_fast
a form on another site signs nobody up without a click
    embedded: «return form_page(request, prefilled_form(request.POST), notice="embedded") → return
        subscriptions(request)»
    test_a_form_on_another_site_has_fields_and_tags
a site that the author has not listed signs nobody up
    embedded: if wording «and origin in newsletter_of(request).own_sites.splitlines()»:
    test_other_sites_need_the_second_press
a form that does not show the stored wording signs nobody up
    embedded: if «wording and» origin in
    test_a_form_without_our_wording_needs_the_second_press
the wording that the form showed is stored
    _sign_up: «wording or» full_wording(
    test_the_wording_shown_is_stored_also_after_a_rename
no form says itself where it is
    embedded: SignUpForm({**request.POST.dict()«, "how": How.EMBEDDED_FORM»})
    test_one_press_on_an_own_site_signs_up

# --- All of it or nothing ---
the confirmation mail is queued in the sign-up's transaction
    ask_for_mail: «→ __import__("django.db").db.transaction.on_commit(lambda:» request_mail(kind,
        number, [(reader.pk, reader.email)], ahead=True)«→ )»
    test_sign_up_record_and_mail_share_one_transaction
a typed name is in no mail before the reader confirms
    sign_up: «→ Subscriber.objects.filter(pk=reader.pk).update(**values)¶» detail = TOO_FAST
    test_signing_up_again_confirms_the_new_name
visitors cannot invent the tags of a form
    read_tags: for tag in «_TAGS_SIGNER.unsign(signed) → signed.partition(":")[0]».split("-")
    test_visitors_cannot_invent_tags

# --- Confirming ---
a form puts on no topic that the reader has left
    _make_a_reader: tags=Func("tags", «"left_topics" → Value([], _TAGS)»,
    test_confirming_leaves_left_topics_and_deleted_tags_off
GET confirms nobody
    link_page: posted = ReaderFieldsForm(request.POST.dict()) if «request.method == "POST" → True»
    test_a_link_scanner_confirms_nobody
another site cannot send the confirmation
    confirm: @ «→ __import__("django.views.decorators.csrf",
        fromlist=["csrf_exempt"]).csrf_exempt¶@» require_http_methods
    test_confirming_needs_the_csrf_token
one of several simultaneous confirmations is recorded
    open_link: Subscriber.objects.«select_for_update() → all()» if consent
    test_concurrent_confirmations_are_recorded_once
a link confirms only by its own recorded request
    _state_and_record: act__in=[Act.ASKED, Act.IMPORTED]«, request=request»)
    test_a_link_without_a_recorded_request_confirms_nobody
a link from before an unsubscribe does not undo it
    link_state: asked_themselves «and asked.at >= gone_at»
    test_only_a_later_own_request_resubscribes
another visitor's request does not undo an unsubscribe
    link_state: «asked_themselves and» asked.at >= gone_at
    test_only_a_later_own_request_resubscribes
a request without a mail has no link
    _state_and_record: if reader is None «or request < 1»:
    test_an_unmailed_request_does_not_renew_old_links
an earlier link shows the same after a later one confirmed
    link_state: not None and request «<= → ==» last_confirmed
    test_an_earlier_link_shows_a_later_confirmation
no token is valid for another's purpose
    purpose_key: digest_size=32«, person=purpose.encode()»).digest()
    test_a_token_works_only_for_its_purpose
a changed token is invalid
    unseal: if «hmac.compare_digest(tag, _tag(key, payload)) → True»:
    test_a_token_with_a_changed_character_is_unknown

# --- Deleting readers who never confirmed ---
only readers who never confirmed are deleted
    _unconfirmed: filter(~Exists(asked)«, state=Subscriber.State.PENDING»)
    test_expire_unconfirmed::test_only_unconfirmed_readers_expire
no reader is deleted before their time
    _expired: _unconfirmed()«.filter(created_at__lt=since)»
    test_an_imported_reader_who_never_confirmed_expires
a reader who asked again meanwhile is not deleted
    _unconfirmed: since = Now() «- → +» timedelta
    test_expiry_counts_from_the_latest_request
a reader who signed up just before the row lock is not deleted
    expire_pending: dict(«_unconfirmed() → Subscriber.objects».filter(pk__in=found)
    test_a_sign_up_just_before_expiry_keeps_the_reader
""")
