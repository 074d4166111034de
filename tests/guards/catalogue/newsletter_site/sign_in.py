"""Guards of the one door: how often somebody may try, and what is asked of them."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a password is looked at only where a try is to spare
    CountedSignIns.is_allowed: return «not isinstance(tried, Refused) → True»
    test_the_right_password_during_a_wait_gives_no_session_and_no_hint
    test_as_much_is_hashed_for_a_name_that_nobody_has_and_nothing_during_a_wait
of sign-ins that come at once none slips through
    take_a_try: «if wait_s: return Refused(wait_s)» return tuple(
    test_of_many_that_come_at_once_no_more_are_looked_at_than_there_are_to_spare
a browser in which an author signed in before is counted apart
    _take_a_try: if browser := «browser_known_for(name, request) → ''»:
    test_a_browser_in_which_the_author_signed_in_before_is_let_in_whatever_others_tried
the mark of a browser is for one author
    browser_known_for: return browser «if whose == hashed_name(name) else ""»
    test_the_mark_of_a_browser_is_for_one_author_alone
a stolen mark does not shut its author out
    _take_a_try: «waits.append(tried.wait_s) → return tried»
    test_a_stolen_mark_has_so_many_tries_and_does_not_shut_its_author_out
who signs in frees no network of its failures
    of_a_network: ends_with_success=«False → True»)
    test_somebody_with_an_account_does_not_free_their_network_by_signing_in
a network is counted over all names
    of_a_network: Count(«hashed_network() → hashed_name(name)», address, _of_a_whole_network(),
    test_a_network_that_tries_name_after_name_waits_after_ten_times_as_many
a name that was typed is kept as a keyed hash alone
    hashed_name: return «_hashed("name", name) → name»
    test_nothing_that_was_typed_is_stored_or_logged
the operators' link is one count however often it is opened
    mark_by_link: _mark(response, whose, «browser → get_random_string(22)») return
    test_however_often_the_operators_link_is_opened_there_is_one_count_for_it
where a second factor is set up the password alone signs nobody in
    SignIn.form_valid: if «not second_factor.is_asked_of(author) → True»:
    test_the_right_password_alone_gives_no_session
a code is looked at only where a try is to spare
    SignIn._try_code: if «isinstance(tried, Refused) → False»: return refused_page(self.request)
    test_wrong_codes_count_as_failed_sign_ins_and_end_in_a_wait
a password that was changed meanwhile ends the waiting for a code
    _who_waits_for_a_code: «or not constant_time_compare(password, author.get_session_auth_hash())»
    test_who_changes_the_password_meanwhile_ends_the_waiting_for_a_code
sessions of before a second factor do not survive it
    User._get_session_auth_hash: if «self.second_factor_since is None → True»:
    test_sessions_of_before_it_was_set_up_do_not_survive_it
of a recovery code its hash alone is kept
    _hash: «base64.urlsafe_b64encode(hashlib.sha256(code.encode()).digest()[:12]).decode() → code»
    test_no_recovery_code_and_no_secret_stands_anywhere_to_be_read
guessing at an open session counts like guessing at the door
    what_is_wrong: if «isinstance(tried, Refused) → False»: return tried
    test_guessing_at_an_open_session_counts_like_guessing_at_the_door
an open session alone takes no second factor away
    what_is_wrong: return «NOT_YOU if has_codes else NOT_YOUR_PASSWORD → ""»
    test_whoever_has_only_the_open_session_cannot_take_it_away
    test_it_is_not_begun_without_the_password
where a second factor is demanded whoever has none sees no other page
    SecondFactorDemanded.process_view: «not settings.REQUIRE_SECOND_FACTOR → True»
    test_where_it_is_demanded_whoever_has_none_sees_no_other_page
the secret of a second factor is shown in the session alone that began it
    _number_of: «request.session.get(_BEGUN, (None, "")) →
        (TOTPDevice.objects.order_by("pk").values_list("pk", flat=True).last(),
        author.get_session_auth_hash())»
    test_only_the_session_that_began_it_sees_the_secret_and_ends_the_set_up
a set-up ends after a quarter of an hour
    being_set_up: «, created_at__gt=since»)
    test_a_set_up_that_was_not_ended_within_fifteen_minutes_is_worth_nothing
a new password ends a set-up of a second factor
    _number_of: «if constant_time_compare(standing, author.get_session_auth_hash()) else None»
    test_a_new_password_ends_a_set_up_that_was_begun_with_the_old_one
no second factor is begun beside one that is on
    begin: «if is_asked_of(author): return None» TOTPDevice
    test_none_is_begun_beside_one_that_is_on
guessing an old password counts like guessing at the door
    NewPassword.post: if «isinstance(tried, Refused) → False»: return refused_page(request)
    test_guessing_the_old_password_counts_like_guessing_at_the_door
an old password that is no more sets no new one
    NewPassword._held_account: .objects«.select_for_update(no_key=True)» return
    test_of_two_windows_that_change_it_at_once_the_second_is_told_that_its_old_one_is_no_more
nobody gives themselves a password without the old one
    AuthorAdmin.user_change_password: if «unquote(id) == str(request.user.pk) → False»:
    test_nobody_gives_themselves_a_password_without_the_old_one
an open session alone gives nobody a new password
    AuthorAdmin.user_change_password: if «wrong → False»: messages.error
    test_somebody_elses_password_takes_ones_own
an open session alone makes no token
    tokens: if «wrong → False»: raise
    test_what_is_wrong_is_said_and_the_words_stay[facts4-This is not your password.]
no pause between codes grows for ever
    _asked: «min(»device.throttling_failure_count«, _LONGEST_PAUSE_AFTER)»
    test_no_pause_between_codes_is_longer_than_seventeen_minutes[000000]
    test_no_pause_between_codes_is_longer_than_seventeen_minutes[abcd-efgh-jkmn]
a second factor is taken away together with its line in the log
    remove: «with transaction.atomic(): _hold(author) → if True:» was_there
    test_it_is_not_taken_away_without_its_line[by_an_operator]
    test_it_is_not_taken_away_without_its_line[by_its_owner]
a clock that was set back keeps nobody waiting until it has caught up
    take_a_try: if «failures.last_s_ago < 0 → False»:
    test_a_clock_that_was_set_back_makes_a_wait_no_longer_from_the_next_try_on
""")
