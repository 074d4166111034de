"""Guards of mail on request: its place, its numbers, whom it goes to, and that it never ends."""

from __future__ import annotations

from tests.guards.guard import guard

QUEUE = "delivery/queue/mail_on_request.py"
NUMBERS = "delivery/queue/batch_numbers.py"
READERS = "subscribers/readers.py"

TESTS = "tests/delivery/test_mail_on_request.py::"
ASKED = "tests/subscribers/test_what_delivery_asks_about_readers.py::TestMailOnRequest::"

GUARDS = [
    guard(
        "mail is requested in the transaction of what it is requested by",
        QUEUE,
        "if not connection.in_atomic_block:",
        "if False:",
        f"{TESTS}TestAsking::test_outside_a_transaction_it_is_refused",
    ),
    guard(
        "two who are the first to ask share one edition",
        QUEUE,
        "ignore_conflicts=True",
        "ignore_conflicts=False",
        f"{TESTS}TestAsking::test_two_who_are_the_first_at_once_share_it_too",
    ),
    guard(
        "a number of a batch that is taken is passed over",
        QUEUE,
        "ON CONFLICT (id) DO NOTHING RETURNING id",
        "RETURNING id",
        f"{TESTS}TestNumbersOfBatches::test_a_number_that_is_taken_is_passed_over",
    ),
    guard(
        "what is split off is numbered above all that are drawn",
        NUMBERS,
        "THEN 0 ELSE {DRAWN_NUMBERS} END",
        "THEN 0 ELSE 0 END",
        f"{TESTS}TestHeldBack::test_what_is_split_off_is_numbered_above_all_that_are_drawn",
    ),
    guard(
        "a sign-up's mail goes before every newsletter",
        QUEUE,
        "AHEAD_OF_ALL = 0",
        "AHEAD_OF_ALL = 1_000_000",
        f"{TESTS}TestItsPlaceInLine::"
        "test_a_hundred_confirmations_go_before_what_is_left_of_a_huge_newsletter",
    ),
    guard(
        "an import's mails take turns with a newsletter",
        QUEUE,
        "place if ahead else place + number",
        "0 if ahead else 0 * number",
        f"{TESTS}TestItsPlaceInLine::"
        "test_the_confirmations_of_an_import_take_turns_with_a_newsletter",
    ),
    guard(
        "what came into line of an edition that is held back starts no call",
        "delivery/queue/start.py",
        'if control != "running":',
        "if False:",
        f"{TESTS}TestHeldBack::"
        "test_what_is_asked_for_while_its_edition_is_stopped_waits_without_a_call",
    ),
    guard(
        "mail on request goes to nobody whom an operator shut out",
        READERS,
        "AND origin = 'operator')",
        "AND false)",
        f"{ASKED}test_what_an_operator_shut_out_is_suppressed",
    ),
    guard(
        "mail on request goes to nobody who is no longer held here",
        READERS,
        "WHERE subscriber.id IS NULL\n        OR EXISTS",
        "WHERE EXISTS",
        f"{ASKED}test_who_is_no_longer_held_here_is_withdrawn",
    ),
    guard(
        "a refusal of mail on request costs no confirmed reader the newsletter",
        READERS,
        "        if kind == Edition.Kind.NEWSLETTER:\n            mailable.append",
        "        if True:\n            mailable.append",
        f"{ASKED}test_an_address_that_is_refused_costs_no_confirmed_reader_the_newsletter",
    ),
    guard(
        "mail on request never ends",
        "migrations/delivery/0009_mail_on_request.py",
        '("kind", "newsletter"),',
        '("kind__isnull", False),',
        f"{TESTS}TestHeldBack::test_it_never_ends",
    ),
]
