"""Guards of test letters: no effect on readers, no waiting, erasable."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a blocked address gets no test
    _unmailable_tests: if not address «or address in suppressed»
    test_suppressed_address_gets_no_test_and_page_explains_it
a sender is used only after Postmark accepted its test letter
    use_candidate: Newsletter.objects.filter(«Exists(accepted), »~Exists(
    test_a_sender_is_not_used_after_another_was_tried
a sender is not used after another was tried
    use_candidate: Exists(accepted)«, ~Exists(_tried().filter(version__gt=number))»)
    test_a_sender_is_not_used_after_another_was_tried
a test to an erased address is not sent
    _unmailable_tests: if «not address or» address in suppressed
    test_queued_test_is_not_sent_to_an_erased_reader
a test waits for no decision
    Dispatcher._settle: if «claimed.kind == Edition.Kind.TEST → False»:
    test_account_fault_is_shown_at_once
events about a test change no reader
    _apply: isinstance(event, Delivered) «or parsed.is_of_a_test»:
    test_bounce_of_a_test_changes_no_reader
the subject of a test marks it as a test
    mark_subject: return «f"{MARK}{title}" → title»
    test_a_test_letter_is_one_marked_mail_to_its_address
after a restore the numbers of tests jump
    _prepare_restored_database: «skip_numbers()» make_due
    test_after_a_restored_backup_no_number_is_given_twice
an erasure removes the address from tests
    anonymise_recipient: gone = {recipient: address_key«, TEST_RECIPIENT: address_key»}
    test_data_request_includes_the_test_and_erasure_removes_its_address
the number of tests per hour is limited
    _check_limit: if «sent.count() >= settings.TESTS_PER_HOUR → False»:
    test_test_letters::test_tests_per_hour_are_limited
the saved form does not reveal its address to guesses
    safe_to_retry.decorate.posted: fingerprints = «keyed_fingerprints(form_hash(request, fields)) →
        [form_hash(request, fields)]»
    test_test_letters::test_stored_fingerprints_reveal_no_address_without_the_secret_key
a sent test is recognised even if its key would change
    _choose_key: if «len(different) > 1 → False»:
    test_repeated_test_is_recognised_under_a_fallback_secret_key
""")
