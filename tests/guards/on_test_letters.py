"""Guards of test letters: they touch nobody on the list, wait for nobody, and are erased."""

from __future__ import annotations

from tests.guards.guard import guard

TESTS = "tests/publishing/test_test_letters.py::"

GUARDS = [
    guard(
        "an address that is shut out gets no test",
        "delivery/queue/start.py",
        "if not address or address in shut_out",
        "if not address",
        f"{TESTS}test_an_address_on_the_suppression_list_gets_nothing_and_the_page_says_so",
    ),
    guard(
        "a test whose address was erased does not go",
        "delivery/queue/start.py",
        "if not address or address in shut_out",
        "if address in shut_out",
        f"{TESTS}test_one_that_waits_does_not_go_to_somebody_who_was_erased",
    ),
    guard(
        "a test waits for nobody's decision",
        "delivery/dispatch.py",
        "if called.started.kind == Edition.Kind.TEST:",
        "if False:",
        f"{TESTS}test_a_fault_of_the_account_is_said_at_once_and_waits_for_nobody",
    ),
    guard(
        "what is told of a test changes no reader",
        "delivery/queue/provider_event.py",
        "isinstance(fact, Delivered) or said.is_of_a_test:",
        "isinstance(fact, Delivered):",
        f"{TESTS}test_what_comes_back_changes_no_reader_and_is_told_of_the_test",
    ),
    guard(
        "the subject of a test says that it is one",
        "delivery/test_letter.py",
        'return f"{MARK}{title}"',
        "return title",
        f"{TESTS}test_it_is_one_marked_mail_to_that_address_and_to_nobody_else",
    ),
    guard(
        "after a restore the numbers of tests jump",
        "delivery/queue/identity.py",
        "    leave_a_gap_in_numbers()\n",
        "",
        f"{TESTS}test_after_a_restored_backup_no_number_is_given_twice",
    ),
    guard(
        "an erasure takes the address off tests",
        "delivery/queue/forget.py",
        "        cursor.execute(_BLANK_TESTS, [address_key, ERASED, TEST_ISSUE, NOBODY, "
        "address_key])\n",
        "        pass\n",
        f"{TESTS}test_a_record_tells_of_it_and_an_erasure_takes_the_address_off",
    ),
    guard(
        "an hour has only so many tests",
        "publishing/test_letters.py",
        "if sent.count() >= settings.TESTS_PER_HOUR:",
        "if False:",
        f"{TESTS}test_an_hour_has_only_so_many",
    ),
    guard(
        "what is kept of a form cannot be tried out with guessed addresses",
        "idempotency/fingerprint.py",
        "    return [*keyed(plain), plain]\n",
        "    return [plain, *keyed(plain)]\n",
        f"{TESTS}test_nobody_without_the_secret_key_can_try_an_address_against_what_is_kept",
    ),
    guard(
        "a form of before the upgrade is known after it",
        "idempotency/fingerprint.py",
        "    return [*keyed(plain), plain]\n",
        "    return keyed(plain)\n",
        f"{TESTS}test_one_that_was_sent_before_the_upgrade_is_not_sent_again_after_it",
        "tests/idempotency/test_posting_the_same_form_twice.py::"
        "test_a_form_that_was_posted_before_the_upgrade_is_known_after_it",
    ),
    guard(
        "a test that was sent is known though its key would be another by now",
        "idempotency/safe_to_retry.py",
        "    if len(different) > 1:\n",
        "    if False:\n",
        f"{TESTS}test_pressed_again_under_a_new_secret_key_it_is_known_while_the_old_one_is_a_fallback",
    ),
]
