"""Guards of test letters: no effect on readers, no waiting, erasable."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a blocked address gets no test
    _unmailable_tests: if not address «or address in suppressed»
    test_an_address_on_the_suppression_list_gets_nothing_and_the_page_says_so
a test to an erased address is not sent
    _unmailable_tests: if «not address or» address in suppressed
    test_one_that_waits_does_not_go_to_somebody_who_was_erased
a test waits for no decision
    Dispatcher._settle: if «claimed.kind == Edition.Kind.TEST → False»:
    test_a_fault_of_the_account_is_said_at_once_and_waits_for_nobody
events about a test change no reader
    _apply: isinstance(event, Delivered) «or parsed.is_of_a_test»:
    test_what_comes_back_changes_no_reader_and_is_told_of_the_test
the subject of a test marks it as a test
    mark_subject: return «f"{MARK}{title}" → title»
    test_it_is_one_marked_mail_to_that_address_and_to_nobody_else
after a restore the numbers of tests jump
    _prepare_restored_database: «skip_numbers()» make_due
    test_after_a_restored_backup_no_number_is_given_twice
an erasure removes the address from tests
    anonymise_recipient: gone = {recipient: address_key«, TEST_RECIPIENT: address_key»}
    test_a_record_tells_of_it_and_an_erasure_takes_the_address_off
the number of tests per hour is limited
    _check_limit: if «sent.count() >= settings.TESTS_PER_HOUR → False»:
    test_test_letters::test_an_hour_has_only_so_many
the saved form does not reveal its address to guesses
    safe_to_retry.decorate.posted: fingerprints = «keyed_fingerprints(form_hash(request, fields)) →
        [form_hash(request, fields)]»
    test_test_letters::test_nobody_without_the_secret_key_can_try_an_address_against_what_is_kept
a sent test is recognised even if its key would change
    _choose_key: if «len(different) > 1 → False»:
    test_pressed_again_under_a_new_secret_key_it_is_known_while_the_old_one_is_a_fallback
""")
