"""Guards of signing up: one answer for all, limits that hold, confirmed by a press alone."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- One answer for all ---
whoever is known is answered like a stranger
    sign_up: «→ if reader.state != "pending":¶    return 1¶» detail = TOO_FAST
    test_the_answer_is_the_same_whoever_the_address_belongs_to
who had their mails for today is answered like anybody else
    ask_for_mail: = _next_number(reader, COUNTERS[kind]) «→ ¶if number == NOT_MAILED:¶
        raise LookupError»
    test_the_answer_is_the_same_whoever_the_address_belongs_to
requests that no mail answered count for their network
    ask_for_mail: = _next_number(reader, COUNTERS[kind]) «→ ¶if number == NOT_MAILED:¶    return»
    test_requests_that_no_mail_answered_count_too
a program is told what everybody is told
    subscriptions: return «_asked(request) → form_page(request, form, status=422)» if not
        form.is_valid()
    test_a_program_that_fills_in_every_field_is_told_the_same_and_nothing_happens

# --- Limits ---
an address is mailed only so often in a day
    ask_for_mail: if «number != NOT_MAILED → True»: request_mail
    test_an_address_gets_so_many_mails_a_day_and_then_none_with_the_same_answer
the limit of an address is the setting
    _next_number: >= «settings.SIGN_UP_MAILS_PER_DAY → 3»:
    test_an_address_gets_so_many_mails_a_day_and_then_none_with_the_same_answer
a day later an address is mailed again
    _mails_within_a_day: > 0 AND «at > clock_timestamp() - make_interval(secs => %s) → %s > 0»
    test_an_address_gets_so_many_mails_a_day_and_then_none_with_the_same_answer
sign-ups of one address at once are numbered one after the other
    _locked_reader: of_this_address.«select_for_update().»first()
    test_sign_ups_of_one_address_at_once_are_each_answered_with_a_mail_of_their_own
a network asks only so often in an hour
    sign_up: suspicious) if «wait → False»:
    test_the_eleventh_has_to_wait_and_keeps_its_text
networks are counted apart
    seconds_until_turn: WHERE network «= %s → >= left(%s, 0)» AND at
    test_another_network_is_not_held_up
sign-ups of one network at once are counted one after the other
    seconds_until_turn: «cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_lock_id(network)])»
    test_of_twenty_sign_ups_of_one_network_at_once_ten_are_let_through
nobody waits longer than an hour, whatever the clock did
    _until_fewer_than: return «min(HOUR_S, max(1 → max(1, min(9_999_999»,
    test_nobody_ever_waits_longer_than_an_hour
what a visitor says of where they come from is not believed
    network_of: if «settings.TRUST_PROXY → True» else
    test_what_a_visitor_says_of_their_address_is_not_believed
behind a proxy only what the proxy added counts
    network_of: .«rpartition(",")[2] → partition(",")[0]»
    test_behind_a_proxy_the_address_that_it_added_counts

requests for a record count for their network before a worker has answered
    seconds_until_turn: FROM data_request «→ WHERE false») AS asked
    test_a_network_asks_so_often_an_hour
an address that nobody has counts for its network
    _count_for_the_network: if «network → False»:
    test_a_network_asks_so_often_an_hour

# --- Requests for a record ---
a request costs the same for every address
    store_request: if not wait«→  and
        Subscriber.objects.filter(email_key=address.lower()).exists()»:
    test_a_form_costs_the_same_for_every_address
a request that fails is undone as a whole
    _try_to_answer: «with transaction.atomic() → if True»:
    test_a_request_that_fails_waits_and_holds_up_nobody
a request that fails too often is set aside
    has_waiting_requests: filter(«failures__lt=MAX_FAILURES»)
    test_a_request_that_fails_waits_and_holds_up_nobody
a worker that ends when nothing is left answers requests first
    is_any_due: return «any(short) or»
    test_a_request_that_fails_waits_and_holds_up_nobody
a request that waits is erased with its address
    erase: «DataRequest.objects.filter(email_key=key).delete()»
    test_a_request_that_waits_is_erased_with_its_address

# --- Programs ---
what fills in the field that nobody sees signs up nobody
    subscriptions: if «form.is_trapped → False»:
    test_a_program_that_fills_in_every_field_is_told_the_same_and_nothing_happens
forms that come back in no time have fewer tries
    seconds_to_wait: if «suspicious → False»:
    test_forms_that_came_back_too_fast_have_fewer_tries
    test_forms_that_come_back_in_no_time_are_let_through_three_times
that a form came back in no time is on record
    sign_up: detail=«TOO_FAST if is_suspicious else»
    test_forms_that_come_back_in_no_time_are_let_through_three_times
nobody makes up the moment at which a form was shown
    SignUpForm.seconds_filling_in: float(«_SIGNER.unsign(self.data["shown"]) →
        self.data["shown"].partition(":")[0] or "nan"»)
    test_a_moment_that_we_never_sealed_counts_as_no_time
a form on another site signs up nobody by itself
    embedded: «return form_page(request, prefilled_form(request.POST), notice="embedded") → return
        subscriptions(request)»
    test_it_changes_nothing_and_shows_our_page_filled_in

# --- All of it or nothing ---
the mail to confirm is queued in the transaction of the sign-up
    ask_for_mail: «→ __import__("django.db").db.transaction.on_commit(lambda:» request_mail(kind,
        number, [(reader.pk, reader.email)], ahead=True)«→ )»
    test_the_same_transaction_holds_the_sign_up_its_record_and_its_mail
a name that anybody can type stands on no letter before they confirm
    sign_up: «→ Subscriber.objects.filter(pk=reader.pk).update(**values)¶» detail = TOO_FAST
    test_a_name_typed_beside_a_known_address_changes_nothing_until_they_confirm

# --- Confirming ---
looking confirms nobody
    confirm: if «request.method != "POST" → False»: return link_page
    test_a_scanner_that_follows_links_confirms_nobody
another site cannot press the button that confirms
    confirm: @ «→ __import__("django.views.decorators.csrf",
        fromlist=["csrf_exempt"]).csrf_exempt¶@» require_http_methods
    test_another_site_cannot_press_the_button
of presses at once one is put on record
    open_link: Subscriber.objects.«select_for_update() → all()» if consent
    test_of_presses_at_once_one_is_put_on_record_and_all_see_the_same_page
a link confirms by a request that is on record, and by that one alone
    _state_and_record: act__in=[Act.ASKED, Act.IMPORTED]«, request=request»)
    test_a_link_whose_request_is_not_on_record_confirms_nobody
a link from before they went does not bring them back
    link_state: asked_themselves «and asked.at >= gone_at»
    test_only_their_own_request_after_they_went_brings_back
what somebody else asked for them does not bring them back
    link_state: «asked_themselves and» asked.at >= gone_at
    test_only_their_own_request_after_they_went_brings_back
a request that no mail answered has no link
    _state_and_record: if reader is None «or request < 1»:
    test_a_request_that_was_not_mailed_makes_no_old_link_new
an earlier link says the same once a later one confirmed
    link_state: not None and request «<= → ==» last_confirmed
    test_an_earlier_link_says_the_same_once_a_later_one_confirmed
no token does what another was made for
    purpose_key: digest_size=32«, person=purpose.encode()»).digest()
    test_no_token_does_what_another_was_made_for
a token that was changed is none of ours
    unseal: if «hmac.compare_digest(tag, _tag(key, payload)) → True»:
    test_a_token_with_any_character_changed_is_none_of_ours

# --- Forgetting who never confirmed ---
nobody is forgotten but who never confirmed
    NOT_CONFIRMED: «state = 'pending' → true»
    test_expire_unconfirmed::test_nobody_else_is
nobody is forgotten before their time
    IS_TOO_OLD: AND «created_at < now() - make_interval(days => %s) → %s > 0»
    test_an_imported_person_who_never_answered_is_forgotten_too
whoever asked again in the meantime is not forgotten
    NOT_CONFIRMED: now() «- → +» make_interval(days => %s))
    test_it_counts_from_the_latest_request
who signed up again just before their row was locked is not forgotten
    expire_pending: WHERE id = ANY(%s) «AND {NOT_CONFIRMED} → AND %s > 0»
    test_who_signed_up_again_just_before_their_row_was_locked_is_not_forgotten
""")
