"""Guards of the one door: how often somebody may try, and what is asked of them."""

from __future__ import annotations

from tests.guards.guard import guard

COUNTS = "newsletter_site/sign_in/counts.py"
UNDER = "newsletter_site/sign_in/counted_under.py"
FACTOR = "newsletter_site/sign_in/second_factor.py"
VIEW = "newsletter_site/sign_in/view.py"
PASSWORDS = "tests/newsletter_site/test_new_passwords.py::"
TOKENS = "tests/newsletter_site/test_the_page_of_tokens.py::"
COUNTED = "tests/newsletter_site/test_failed_sign_ins_are_counted.py::"
_TWO = "tests/newsletter_site/second_factor/"
WITH_A_CODE = f"{_TWO}test_signing_in_with_a_code.py::"
CODES = f"{_TWO}test_what_a_code_is_worth.py::"
SETTING_UP = f"{_TWO}test_setting_it_up.py::"
OPEN_SESSION = f"{_TWO}test_at_an_open_session.py::"
IN_THE_LOG = f"{_TWO}test_what_is_said_of_it_in_the_log.py::"
DEMANDED = f"{_TWO}test_where_it_is_demanded.py::"

GUARDS = [
    guard(
        "a password is looked at only where a try is to spare",
        "newsletter_site/sign_in/counting.py",
        "return not isinstance(tried, Refused)",
        "return True",
        f"{COUNTED}test_the_right_password_during_a_wait_gives_no_session_and_no_hint",
        f"{COUNTED}test_as_much_is_hashed_for_a_name_that_nobody_has_and_nothing_during_a_wait",
    ),
    guard(
        "of sign-ins that come at once none slips through",
        COUNTS,
        "        if wait_s:\n            return Refused(wait_s)\n        return tuple(",
        "        return tuple(",
        f"{COUNTED}test_of_many_that_come_at_once_no_more_are_looked_at_than_there_are_to_spare",
    ),
    guard(
        "a browser in which an author signed in before is counted apart",
        "newsletter_site/sign_in/counting.py",
        "if browser := browser_known_for(name, request):",
        "if browser := '':",
        f"{COUNTED}test_a_browser_in_which_the_author_signed_in_before_is_let_in_whatever_others_tried",
    ),
    guard(
        "the mark of a browser is for one author",
        "newsletter_site/sign_in/known_browser.py",
        'return browser if whose == hashed_name(name) else ""',
        "return browser",
        f"{COUNTED}test_the_mark_of_a_browser_is_for_one_author_alone",
    ),
    guard(
        "a stolen mark does not shut its author out",
        "newsletter_site/sign_in/counting.py",
        "        waits.append(tried.wait_s)",
        "        return tried",
        f"{COUNTED}test_a_stolen_mark_has_so_many_tries_and_does_not_shut_its_author_out",
    ),
    guard(
        "who signs in frees no network of its failures",
        UNDER,
        "ends_with_success=False)",
        "ends_with_success=True)",
        f"{COUNTED}test_somebody_with_an_account_does_not_free_their_network_by_signing_in",
    ),
    guard(
        "a network is counted over all names",
        UNDER,
        "Count(hashed_network(), address, _of_a_whole_network(),",
        "Count(hashed_name(name), address, _of_a_whole_network(),",
        f"{COUNTED}test_a_network_that_tries_name_after_name_waits_after_ten_times_as_many",
    ),
    guard(
        "a name that was typed is kept as a keyed hash alone",
        UNDER,
        'return _hashed("name", name)',
        "return name",
        f"{COUNTED}test_nothing_that_was_typed_is_stored_or_logged",
    ),
    guard(
        "the operators' link is one count however often it is opened",
        "newsletter_site/sign_in/known_browser.py",
        "_mark(response, whose, browser)\n    return",
        "_mark(response, whose, get_random_string(22))\n    return",
        f"{COUNTED}test_however_often_the_operators_link_is_opened_there_is_one_count_for_it",
    ),
    guard(
        "where a second factor is set up the password alone signs nobody in",
        VIEW,
        "if not second_factor.is_asked_of(author):",
        "if True:",
        f"{WITH_A_CODE}test_the_right_password_alone_gives_no_session",
    ),
    guard(
        "a code is looked at only where a try is to spare",
        VIEW,
        "        if isinstance(tried, Refused):\n            return refused_page(self.request)",
        "        if False:\n            return refused_page(self.request)",
        f"{CODES}test_wrong_codes_count_as_failed_sign_ins_and_end_in_a_wait",
    ),
    guard(
        "a password that was changed meanwhile ends the waiting for a code",
        VIEW,
        "author is None or not constant_time_compare(password, author.get_session_auth_hash())",
        "author is None",
        f"{WITH_A_CODE}test_who_changes_the_password_meanwhile_ends_the_waiting_for_a_code",
    ),
    guard(
        "sessions of before a second factor do not survive it",
        "newsletter_site/models.py",
        "if self.second_factor_since is None:",
        "if True:",
        f"{SETTING_UP}test_sessions_of_before_it_was_set_up_do_not_survive_it",
    ),
    guard(
        "of a recovery code its hash alone is kept",
        FACTOR,
        "return base64.urlsafe_b64encode(hashlib.sha256(code.encode()).digest()[:12]).decode()",
        "return code",
        f"{CODES}test_no_recovery_code_and_no_secret_stands_anywhere_to_be_read",
    ),
    guard(
        "guessing at an open session counts like guessing at the door",
        "newsletter_site/sign_in/proof.py",
        "    if isinstance(tried, Refused):\n        return tried",
        "    if False:\n        return tried",
        f"{OPEN_SESSION}test_guessing_at_an_open_session_counts_like_guessing_at_the_door",
    ),
    guard(
        "an open session alone takes no second factor away",
        "newsletter_site/sign_in/proof.py",
        "    return NOT_YOU if has_codes else NOT_YOUR_PASSWORD",
        '    return ""',
        f"{OPEN_SESSION}test_whoever_has_only_the_open_session_cannot_take_it_away",
        f"{SETTING_UP}test_it_is_not_begun_without_the_password",
    ),
    guard(
        "where a second factor is demanded whoever has none sees no other page",
        "newsletter_site/sign_in/demanded.py",
        "not settings.REQUIRE_SECOND_FACTOR",
        "True",
        f"{DEMANDED}test_where_it_is_demanded_whoever_has_none_sees_no_other_page",
    ),
    guard(
        "the secret of a second factor is shown in the session alone that began it",
        "newsletter_site/sign_in/setting_up.py",
        'number, standing = request.session.get(_BEGUN, (None, ""))',
        "number, standing = (\n"
        '        TOTPDevice.objects.order_by("pk").values_list("pk", flat=True).last(),\n'
        "        author.get_session_auth_hash(),\n    )",
        f"{SETTING_UP}test_only_the_session_that_began_it_sees_the_secret_and_ends_the_set_up",
    ),
    guard(
        "a set-up ends after a quarter of an hour",
        FACTOR,
        ", created_at__gt=since)",
        ")",
        f"{SETTING_UP}test_a_set_up_that_was_not_ended_within_fifteen_minutes_is_worth_nothing",
    ),
    guard(
        "a new password ends a set-up of a second factor",
        "newsletter_site/sign_in/setting_up.py",
        "number if constant_time_compare(standing, author.get_session_auth_hash()) else None",
        "number",
        f"{SETTING_UP}test_a_new_password_ends_a_set_up_that_was_begun_with_the_old_one",
    ),
    guard(
        "no second factor is begun beside one that is on",
        FACTOR,
        "        if is_asked_of(author):\n            return None\n        TOTPDevice",
        "        TOTPDevice",
        f"{SETTING_UP}test_none_is_begun_beside_one_that_is_on",
    ),
    guard(
        "guessing an old password counts like guessing at the door",
        "newsletter_site/sign_in/new_password.py",
        "        if isinstance(tried, Refused):\n            return refused_page(request)",
        "        if False:\n            return refused_page(request)",
        f"{PASSWORDS}test_guessing_the_old_password_counts_like_guessing_at_the_door",
    ),
    guard(
        "an old password that is no more sets no new one",
        "newsletter_site/sign_in/new_password.py",
        ".objects.select_for_update(no_key=True)",
        ".objects",
        f"{PASSWORDS}test_of_two_windows_that_change_it_at_once_the_second_is_told_that_its_old_one"
        "_is_no_more",
    ),
    guard(
        "nobody gives themselves a password without the old one",
        "newsletter_site/admin.py",
        "if unquote(id) == str(request.user.pk):",
        "if False:",
        f"{PASSWORDS}test_nobody_gives_themselves_a_password_without_the_old_one",
    ),
    guard(
        "an open session alone gives nobody a new password",
        "newsletter_site/admin.py",
        "            if wrong:\n                messages.error",
        "            if False:\n                messages.error",
        f"{PASSWORDS}test_somebody_elses_password_takes_ones_own",
    ),
    guard(
        "an open session alone makes no token",
        "newsletter_site/tokens/page.py",
        "        if wrong:\n            raise",
        "        if False:\n            raise",
        f"{TOKENS}test_what_is_wrong_is_said_and_the_words_stay[facts4-This is not your password.]",
    ),
    guard(
        "no pause between codes grows for ever",
        FACTOR,
        "min(device.throttling_failure_count, _LONGEST_PAUSE_AFTER)",
        "device.throttling_failure_count",
        f"{CODES}test_no_pause_between_codes_is_longer_than_seventeen_minutes[000000]",
        f"{CODES}test_no_pause_between_codes_is_longer_than_seventeen_minutes[abcd-efgh-jkmn]",
    ),
    guard(
        "a second factor is taken away together with its line in the log",
        FACTOR,
        "    with transaction.atomic():\n        _hold(author)\n        was_there",
        "    if True:\n        was_there",
        f"{IN_THE_LOG}test_it_is_not_taken_away_without_its_line[by_an_operator]",
        f"{IN_THE_LOG}test_it_is_not_taken_away_without_its_line[by_its_owner]",
    ),
    guard(
        "a clock that was set back keeps nobody waiting until it has caught up",
        COUNTS,
        "            if failures.last_s_ago < 0:",
        "            if False:",
        f"{COUNTED}test_a_clock_that_was_set_back_makes_a_wait_no_longer_from_the_next_try_on",
    ),
]
