"""Guards of what people want for themselves: who leaves has left, who is erased is gone."""

from __future__ import annotations

from tests.guards.guard import guard

LEAVING = "subscribers/leaving.py"
ERASING = "subscribers/erasing.py"
FORGET = "delivery/queue/forget.py"
CLASSIFICATION = "delivery/classification.py"

LEAVES = "tests/subscribers/test_leaving_the_list.py::"
DESK = "tests/subscribers/test_readers_on_the_desk.py::"
ERASES = "tests/subscribers/test_erasing.py::"
LETS_IN = "tests/subscribers/test_letting_in_undoes_nothing_that_was_told.py::"

GUARDS = [
    guard(
        "who has left leaves once, and the ledger says so once",
        LEAVING,
        "filter(id=subscriber_id, unsubscribed_at=None)",
        "filter(id=subscriber_id)",
        f"{LEAVES}test_the_ledger_has_one_line_however_often_they_press",
        f"{LEAVES}test_an_earlier_time_of_leaving_is_kept",
    ),
    guard(
        "whoever is erased loses address and name on every copy",
        FORGET,
        "_BLANK = \"\"\"\n    UPDATE delivery SET address = '', name = '',",
        '_BLANK = """\n    UPDATE delivery SET address = address, name = \'\',',
        f"{ERASES}test_the_copies_of_every_issue_and_version_lose_address_and_name",
    ),
    guard(
        "erasing waits for what is being published",
        ERASING,
        "        wait_for_copies_being_made()\n",
        "",
        f"{ERASES}test_no_issue_that_is_being_published_names_who_is_erased",
    ),
    guard(
        "publishing holds off those who erase until it is to be seen",
        "delivery/queue/enqueue.py",
        "        cursor.execute(MAKE_COPIES)\n",
        "",
        f"{ERASES}test_no_issue_that_is_being_published_names_who_is_erased",
    ),
    guard(
        "a piece of an import holds off those who erase until it is to be seen",
        "subscribers/importing/running.py",
        "        cursor.execute(MAKE_COPIES)\n",
        "",
        f"{ERASES}test_an_import_that_has_asked_already_who_was_erased_is_waited_for",
    ),
    guard(
        "whoever never confirmed is forgotten by their mails too",
        "subscribers/expiring.py",
        "        forget_who_never_confirmed(forgotten)\n",
        "",
        "tests/subscribers/test_sign_ups_that_run_out.py::"
        "test_nothing_of_the_address_stays_anywhere",
    ),
    guard(
        "erasing looks once more when nobody holds the person any more",
        ERASING,
        "        forget_recipient(subscriber_id, key)\n        forget_address(key)\n",
        "",
        f"{ERASES}test_what_came_about_while_somebody_else_held_the_person_goes_too",
    ),
    guard(
        "a mail that was being asked for while somebody is erased loses its address",
        ERASING,
        "        forget_recipient(subscriber_id, key)\n        forget_address(key)\n",
        "        forget_address(key)\n",
        f"{ERASES}test_a_mail_that_they_were_just_asking_for_loses_their_address_too",
    ),
    guard(
        "a link of who was erased brings nothing back",
        "subscribers/confirming.py",
        "        return Standing.STALE, None\n",
        "        return Standing.OPEN, None\n",
        f"{ERASES}test_a_link_to_confirm_of_who_was_erased_is_too_old_and_brings_nothing_back",
    ),
    guard(
        "erasing does not wait for whoever applies an event of theirs",
        "delivery/queue/kept_events.py",
        "WHERE address_key = ANY(%s) FOR UPDATE SKIP LOCKED",
        "WHERE address_key = ANY(%s)",
        f"{ERASES}test_an_event_that_is_just_being_applied_is_not_waited_for",
    ),
    guard(
        "a reason that quotes the address is erased with it",
        FORGET,
        "strpos(lower(reason), address_key) > 0",
        "strpos(lower(reason), address_key) > 9999",
        f"{ERASES}test_a_reason_that_quotes_the_address_goes_with_it",
    ),
    guard(
        "a refusal does not quote the address",
        CLASSIFICATION,
        'return Refused(_quoted(code, _ADDRESS.sub("…", text)))',
        "return Refused(_quoted(code, text))",
        f"{ERASES}test_a_refusal_of_the_address_does_not_write_it_back",
    ),
    guard(
        "what the provider tells late of somebody who was erased is not kept",
        "subscribers/told.py",
        "    if reader is None and erased_among([fact.address_key]):\n",
        "    if False:\n",
        f"{ERASES}test_what_the_provider_tells_later_does_not_bring_the_address_back",
    ),
    guard(
        "a delivery that is told late of somebody who was erased is not kept",
        "delivery/queue/provider_event.py",
        "                _drop_if_forgotten(cursor, event, copy, address, is_here=is_here)\n",
        "                pass\n",
        f"{ERASES}test_what_the_provider_tells_later_does_not_bring_the_address_back",
    ),
    guard(
        "letting in takes back the desk's own word alone",
        "subscribers/shutting_out.py",
        "    if standing.reason != MANUAL and not is_over:\n",
        "    if False:\n",
        f"{DESK}test_letting_in_takes_back_the_desks_own_word_alone",
    ),
    guard(
        "letting in undoes nothing that was told while the address was shut out",
        "subscribers/shutting_out.py",
        "    told = reasons_told_of(reader)\n",
        "    told = reasons_told_of(reader)[:0]\n",
        f"{LETS_IN}test_what_is_told_of_an_address_that_is_shut_out_stands_once_it_is_let_in",
    ),
    guard(
        "of several that were told the gravest stands once the address is let in",
        "subscribers/shutting_out.py",
        "    return max(told, key=",
        "    return min(told, key=",
        f"{LETS_IN}test_of_several_the_gravest_stands",
    ),
    guard(
        "what an opt-in answered does not come back by letting in",
        "subscribers/told.py",
        "id__gt=reader.opt_in_id or 0",
        "id__gt=0",
        f"{LETS_IN}test_what_their_own_opt_in_answered_does_not_come_back",
    ),
    guard(
        "nor does what the suppression list kept beside an operator's word",
        "subscribers/shutting_out.py",
        "    is_over = reader.opt_in is not None and reader.opt_in.at >= standing.at\n",
        "    is_over = False\n",
        f"{LETS_IN}test_what_their_own_opt_in_answered_does_not_come_back",
    ),
    guard(
        "the provider is not asked to mail whom letting in makes no reader",
        "subscribers/shutting_out.py",
        "        elif reader.state == Subscriber.State.CONFIRMED:\n",
        "        else:\n",
        f"{DESK}test_the_provider_is_not_asked_to_mail_whom_letting_in_makes_no_reader",
    ),
    guard(
        "a search without an index is ended by the database",
        "subscribers/reader_list.py",
        """            cursor.execute(f"SET LOCAL statement_timeout = '{SEARCH_S}s'")\n""",
        """            cursor.execute("SET LOCAL statement_timeout = '10s'")\n"""
        """            cursor.execute("SET LOCAL lock_timeout = '9s'")\n""",
        f"{DESK}test_a_search_that_takes_too_long_is_ended_and_says_what_finds_sooner",
    ),
]
