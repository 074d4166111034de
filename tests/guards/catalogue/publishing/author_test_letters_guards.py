"""Guards of test letters: no effect on readers, no waiting, erasable."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a blocked address gets no test
    unmailable_without_reader: if not address «or address in suppressed»
    test_suppressed_address_gets_no_test_and_page_explains_it
a test to an erased address is not sent
    unmailable_without_reader: if «not address or» address in suppressed
    test_queued_test_is_not_sent_to_an_erased_reader
events about a test change no reader
    _apply: isinstance(event, Delivered) «or parsed.is_of_a_test»:
    test_bounce_of_a_test_changes_no_reader
after a restore the numbers of tests jump
    _prepare_restored_database: «skip_numbers()» make_due
    test_after_a_restored_backup_no_number_is_given_twice
an erasure removes the address from tests
    anonymise_recipient: gone = {recipient: address_key«, TEST_RECIPIENT: address_key»}
    test_data_request_includes_the_test_and_erasure_removes_its_address
the saved form does not reveal its address to guesses
    safe_to_retry.decorate.posted: fingerprints = «keyed_fingerprints(form_hash(request, fields)) →
        [form_hash(request, fields)]»
    test_send_test_letter::test_stored_fingerprints_reveal_no_address_without_the_secret_key
""")
