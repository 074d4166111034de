"""Guards of mail on request: its place, its numbers, whom it goes to, and that it never ends."""

from tests.guards.notation import guards

GUARDS = guards(r"""
mail is requested in the transaction of what it is requested by
    request_mail: batch. " if «not connection.in_atomic_block → False»:
    test_a_request_outside_a_transaction_is_refused
two who are the first to ask share one edition
    _edition: ignore_conflicts=«True → False») edition
    test_two_first_requests_at_once_share_one_edition
a number of a batch that is taken is passed over
    _new_batch: «ON CONFLICT (id) DO NOTHING» RETURNING id
    test_a_batch_number_that_is_taken_is_passed_over
what is split off is numbered above all that are drawn
    NEXT_BATCH_ID: THEN 0 ELSE «{DRAWN_NUMBERS} → 0» END
    test_split_batches_are_numbered_above_all_drawn_numbers
a sign-up's mail goes before every newsletter
    AHEAD_OF_ALL: AHEAD_OF_ALL = «0 → 1_000_000»
    test_confirmations_go_before_a_huge_newsletter
an import's mails take turns with a newsletter
    request_mail: «place if ahead else place + → 0 if ahead else 0 *» number
    test_imported_requests_take_turns_with_a_letter
what came into line of an edition that is held back starts no call
    _start: if «control != "running" → False»:
    test_a_request_to_a_paused_edition_waits_without_a_call
mail on request goes to nobody whom an operator shut out
    NOT_TO_BE_MAILED_ON_REQUEST: AND («origin = 'operator' → false»
    test_what_an_operator_shut_out_is_suppressed
mail on request goes to nobody who is no longer held here
    NOT_TO_BE_MAILED_ON_REQUEST: WHERE «subscriber.id IS NULL OR» EXISTS
    TestMailOnRequest::test_who_is_no_longer_held_here_is_withdrawn
a refusal of mail on request costs no confirmed reader the newsletter
    RegisteredReaders.mark_refused: if «kind == Edition.Kind.NEWSLETTER → True»: mailable.append
    test_an_address_that_is_refused_costs_no_confirmed_reader_the_newsletter
mail on request never ends
    sql: ALTER TABLE edition DROP CONSTRAINT mail_on_request_never_ends
    test_mail_on_request_never_ends
""")
