"""Guards of the one door: how often somebody may try, and what is asked of them."""

from __future__ import annotations

from tests.guards.guard import guard

COUNTS = "newsletter_site/sign_in/counts.py"
UNDER = "newsletter_site/sign_in/counted_under.py"
COUNTED = "tests/newsletter_site/test_failed_sign_ins_are_counted.py::"

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
]
