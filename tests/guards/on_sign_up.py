"""Guards of signing up: one answer for all, limits that hold, confirmed by a press alone."""

from __future__ import annotations

from tests.guards.guard import Change, covered, guard

SIGNING_UP = "subscribers/signing_up.py"
LIMITS = "subscribers/sign_up_limits.py"
REQUESTS = "subscribers/requests_for_mail.py"
FORM = "subscribers/sign_up_form.py"
NETWORK = "subscribers/network.py"
VIEW = "subscribers/views/sign_up.py"
CONFIRMING = "subscribers/confirming.py"
CONFIRM_VIEW = "subscribers/views/confirm.py"
SEAL = "subscribers/sealed_token.py"
EXPIRING = "subscribers/expiring.py"

SIGNS_UP = "tests/subscribers/test_signing_up.py::"
LIMITED = "tests/subscribers/test_sign_up_limits.py::"
AT_ONCE = "tests/subscribers/test_sign_ups_at_once.py::"
CONFIRMS = "tests/subscribers/test_confirming.py::"
RUNS_OUT = "tests/subscribers/test_sign_ups_that_run_out.py::"
TOKENS = "tests/subscribers/test_the_unsubscribe_token.py::"

THE_SAME = f"{SIGNS_UP}test_the_answer_is_the_same_whoever_the_address_belongs_to"
ON_RECORD = "        number = next_number(reader, CONFIRMATION)\n"

GUARDS = [
    # --- One answer for all -----------------------------------------------------------------
    guard(
        "whoever is known is answered like a stranger",
        SIGNING_UP,
        ON_RECORD,
        f'        if reader.state != "pending":\n            return 1\n{ON_RECORD}',
        THE_SAME,
    ),
    guard(
        "who had their mails for today is answered like anybody else",
        SIGNING_UP,
        ON_RECORD,
        f"{ON_RECORD}        if number == NOT_MAILED:\n            return 1\n",
        THE_SAME,
    ),
    guard(
        "requests that no mail answered count for their network",
        SIGNING_UP,
        ON_RECORD,
        f"{ON_RECORD}        if number == NOT_MAILED:\n            return 0\n",
        f"{SIGNS_UP}TestTheNetwork::test_requests_that_no_mail_answered_count_too",
    ),
    guard(
        "a program is told what everybody is told",
        VIEW,
        "        return _asked(request)\n    if form.address is None",
        "        return form_page(request, form, status=422)\n    if form.address is None",
        f"{SIGNS_UP}test_a_program_that_fills_in_every_field_is_told_the_same_and_nothing_happens",
    ),
    # --- Limits -----------------------------------------------------------------------------
    guard(
        "an address is mailed only so often in a day",
        SIGNING_UP,
        "        if number != NOT_MAILED:\n",
        "        if True:\n",
        f"{SIGNS_UP}test_an_address_gets_three_mails_a_day_and_then_none_with_the_same_answer",
    ),
    guard(
        "the limit of an address is the setting",
        REQUESTS,
        "settings.SIGN_UP_MAILS_PER_DAY)",
        "3)",
        f"{SIGNS_UP}test_how_many_mails_a_day_is_a_setting",
    ),
    guard(
        "a day later an address is mailed again",
        REQUESTS,
        "request > 0 AND at > clock_timestamp() - make_interval(secs => %s)",
        "request > 0 AND %s > 0",
        f"{SIGNS_UP}test_tomorrow_it_is_mailed_again",
    ),
    guard(
        "sign-ups of one address at once are numbered one after the other",
        SIGNING_UP,
        "of_this_address.select_for_update().first()",
        "of_this_address.first()",
        f"{AT_ONCE}test_sign_ups_of_one_address_at_once_are_each_answered_with_a_mail_of_their_own",
    ),
    guard(
        "a network asks only so often in an hour",
        SIGNING_UP,
        "        if wait:\n",
        "        if False:\n",
        f"{SIGNS_UP}TestTheNetwork::test_the_eleventh_has_to_wait_and_keeps_its_text",
    ),
    guard(
        "networks are counted apart",
        REQUESTS,
        "             WHERE network = %s AND act",
        "             WHERE network >= left(%s, 0) AND act",
        f"{SIGNS_UP}TestTheNetwork::test_another_network_is_not_held_up",
    ),
    guard(
        "sign-ups of one network at once are counted one after the other",
        REQUESTS,
        '        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_turn_of(network)])\n',
        "",
        f"{AT_ONCE}test_of_twenty_sign_ups_of_one_network_at_once_ten_are_let_through",
    ),
    guard(
        "nobody waits longer than an hour, whatever the clock did",
        LIMITS,
        "return min(HOUR_S, max(1,",
        "return max(1, min(9_999_999,",
        f"{LIMITED}test_nobody_ever_waits_longer_than_an_hour",
    ),
    guard(
        "what a visitor says of where they come from is not believed",
        NETWORK,
        "    if settings.TRUST_PROXY:\n",
        "    if True:\n",
        f"{SIGNS_UP}TestTheNetwork::test_what_a_visitor_says_of_their_address_is_not_believed",
    ),
    guard(
        "behind a proxy only what the proxy added counts",
        NETWORK,
        '.rpartition(",")[2]',
        '.partition(",")[0]',
        f"{SIGNS_UP}TestTheNetwork::test_behind_a_proxy_the_address_that_it_added_counts",
    ),
    # --- Programs ---------------------------------------------------------------------------
    guard(
        "what fills in the field that nobody sees signs up nobody",
        VIEW,
        "    if form.is_trapped:\n",
        "    if False:\n",
        f"{SIGNS_UP}test_a_program_that_fills_in_every_field_is_told_the_same_and_nothing_happens",
    ),
    guard(
        "forms that come back in no time have fewer tries",
        LIMITS,
        "    if suspicious:\n",
        "    if False:\n",
        f"{LIMITED}test_forms_that_came_back_too_fast_have_fewer_tries",
        f"{SIGNS_UP}TestTheNetwork::"
        "test_forms_that_come_back_in_no_time_are_let_through_three_times",
    ),
    guard(
        "that a form came back in no time is on record",
        SIGNING_UP,
        'detail=TOO_FAST if wish.suspicious else "",',
        'detail="",',
        f"{SIGNS_UP}TestTheNetwork::"
        "test_forms_that_come_back_in_no_time_are_let_through_three_times",
    ),
    guard(
        "nobody makes up the moment at which a form was shown",
        FORM,
        "float(_SEAL.unsign(shown))",
        'float(shown.partition(":")[0] or "nan")',
        f"{SIGNS_UP}test_a_moment_that_we_never_sealed_counts_as_no_time",
    ),
    guard(
        "a form on another site signs up nobody by itself",
        VIEW,
        "    form = sign_up_form.filled_in_elsewhere(request.POST.dict())\n",
        "    return subscriptions(request)\n",
        f"{SIGNS_UP}TestAFormOnAnotherSite::test_it_changes_nothing_and_shows_our_page_filled_in",
    ),
    # --- All of it or nothing ---------------------------------------------------------------
    guard(
        "the mail to confirm is queued in the transaction of the sign-up",
        SIGNING_UP,
        "            request_mail(Edition.Kind.CONFIRMATION, number, "
        "[(reader.pk, reader.email)], ahead=True)\n",
        "            transaction.on_commit(\n"
        "                lambda: request_mail(\n"
        "                    Edition.Kind.CONFIRMATION, number, [(reader.pk, reader.email)], "
        "ahead=True\n"
        "                )\n"
        "            )\n",
        f"{SIGNS_UP}test_the_same_transaction_holds_the_sign_up_its_record_and_its_mail",
    ),
    guard(
        "a name that anybody can type stands on no letter before they confirm",
        SIGNING_UP,
        ON_RECORD,
        f"        Subscriber.objects.filter(pk=reader.pk).update(name=wish.name)\n{ON_RECORD}",
        f"{SIGNS_UP}test_a_name_typed_beside_a_known_address_changes_nothing_until_they_confirm",
    ),
    # --- Confirming -------------------------------------------------------------------------
    guard(
        "looking confirms nobody",
        CONFIRM_VIEW,
        '    if request.method != "POST":\n',
        "    if False:\n",
        f"{CONFIRMS}test_a_scanner_that_follows_links_confirms_nobody",
    ),
    guard(
        "another site cannot press the button that confirms",
        CONFIRM_VIEW,
        '@require_http_methods(["GET", "HEAD", "POST"])\ndef confirm(',
        '@__import__("django.views.decorators.csrf", fromlist=["csrf_exempt"]).csrf_exempt\n'
        '@require_http_methods(["GET", "HEAD", "POST"])\ndef confirm(',
        f"{CONFIRMS}test_another_site_cannot_press_the_button",
    ),
    guard(
        "of presses at once one is put on record",
        CONFIRMING,
        "Subscriber.objects.select_for_update().filter(pk=request.recipient).first()",
        "Subscriber.objects.filter(pk=request.recipient).first()",
        f"{AT_ONCE}test_of_presses_at_once_one_is_put_on_record_and_all_see_the_same_page",
    ),
    guard(
        "a link confirms by a request that is on record, and by that one alone",
        CONFIRMING,
        "act__in=[Act.ASKED, Act.IMPORTED], request=request)",
        "act__in=[Act.ASKED, Act.IMPORTED])",
        f"{CONFIRMS}test_a_link_whose_request_is_not_on_record_confirms_nobody",
    ),
    guard(
        "a link from before they went does not bring them back",
        CONFIRMING,
        "asked_themselves and asked.at >= gone_at",
        "asked_themselves",
        f"{CONFIRMS}test_only_their_own_request_after_they_went_brings_back",
    ),
    guard(
        "what somebody else asked for them does not bring them back",
        CONFIRMING,
        "asked_themselves and asked.at >= gone_at",
        "asked.at >= gone_at",
        f"{CONFIRMS}test_only_their_own_request_after_they_went_brings_back",
    ),
    guard(
        "a request that no mail answered has no link",
        CONFIRMING,
        "if reader is None or request < 1:",
        "if reader is None:",
        f"{CONFIRMS}test_a_request_that_was_not_mailed_makes_no_old_link_new",
    ),
    guard(
        "an earlier link says the same once a later one confirmed",
        CONFIRMING,
        "request <= last_confirmed:",
        "request == last_confirmed:",
        f"{CONFIRMS}test_an_earlier_link_says_the_same_once_a_later_one_confirmed",
    ),
    guard(
        "no token does what another was made for",
        SEAL,
        "digest_size=32, person=purpose.encode()).digest()",
        "digest_size=32).digest()",
        f"{TOKENS}test_no_token_does_what_another_was_made_for",
    ),
    guard(
        "a token that was changed is none of ours",
        SEAL,
        "if hmac.compare_digest(tag, _tag(key, payload)):",
        "if True:",
        f"{TOKENS}test_a_token_with_any_character_changed_is_none_of_ours",
    ),
    # --- Forgetting who never confirmed ---------------------------------------------------------
    covered(
        "nobody is forgotten but who never confirmed",
        "what is found and what is deleted are asked for the same",
        (
            Change(EXPIRING, "    state = 'pending' AND created_at", "    created_at"),
            Change(EXPIRING, "WHERE id = ANY(%s) AND state = 'pending'", "WHERE id = ANY(%s)"),
        ),
        f"{RUNS_OUT}test_nobody_else_is",
    ),
    guard(
        "nobody is forgotten before their time",
        EXPIRING,
        "AND created_at < now() - make_interval(days => %s)\n    AND NOT EXISTS",
        "AND %s > 0\n    AND NOT EXISTS",
        f"{RUNS_OUT}test_an_imported_person_who_never_answered_is_forgotten_too",
    ),
    covered(
        "whoever asked again in the meantime is not forgotten",
        "what is found and what is deleted are asked for the same",
        (
            Change(
                EXPIRING,
                'now() - make_interval(days => %s))\n"""\n# Whoever',
                'now() + make_interval(days => %s))\n"""\n# Whoever',
            ),
            Change(
                EXPIRING,
                "now() - make_interval(days => %s))\n RETURNING id",
                "now() + make_interval(days => %s))\n RETURNING id",
            ),
        ),
        f"{RUNS_OUT}test_it_counts_from_the_latest_request",
    ),
    guard(
        "who signed up again just before their row was locked is not forgotten",
        EXPIRING,
        "now() - make_interval(days => %s))\n RETURNING id",
        "now() + make_interval(days => %s))\n RETURNING id",
        f"{AT_ONCE}test_who_signed_up_again_just_before_their_row_was_locked_is_not_forgotten",
    ),
]
