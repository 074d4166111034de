"""Guards of look-ups: what was accepted unheard is found, and silence is not believed too soon."""

from __future__ import annotations

from tests.guards.guard import Change, covered, guard

LOOK_UP = "delivery/look_up.py"
RETRIES = "delivery/retries.py"
KNOWN_OF_IT = "delivery/queue/doubt.py"

AFTER = "tests/delivery/test_retries_after_a_look_up.py::"
DOUBT = "tests/delivery/test_unknown_attempts.py::"
LOST = "tests/delivery/test_retries_after_a_lost_worker.py::"
SETTLING = "tests/delivery/test_settling_a_call.py::"

WITNESS = """\
    witness = search("attempt", doubt.witness.hex) if doubt.witness else None
    convincing = witness is None or (isinstance(witness, LookedUp) and bool(witness.found))
    answer = _ask(claim.attempt, doubt, search)
"""
WITNESS_LAST = """\
    answer = _ask(claim.attempt, doubt, search)
    witness = search("attempt", doubt.witness.hex) if doubt.witness else None
    convincing = witness is None or (isinstance(witness, LookedUp) and bool(witness.found))
"""

GUARDS = [
    guard(
        "a look-up that failed is no information",
        RETRIES,
        "            reason=answer.reason,\n",
        "            reason=answer.reason,\n            said_absent=True,\n",
        f"{AFTER}test_a_search_that_failed_says_nothing_at_any_point_of_the_schedule",
        f"{DOUBT}test_a_look_up_that_fails_says_nothing_and_does_not_count",
    ),
    guard(
        "silence is believed only at the end of the schedule",
        RETRIES,
        "    if lookups + 1 < len(policy.lookup_after_s):",
        "    if False:",
        f"{AFTER}test_each_silence_of_the_schedule_leads_to_the_next_look_up",
    ),
    guard(
        "the next look-up of the schedule keeps to its time",
        RETRIES,
        "lookup_after_s=policy.lookup_after_s[lookups + 1]",
        "lookup_after_s=policy.lookup_after_s[0]",
        f"{AFTER}test_each_silence_of_the_schedule_leads_to_the_next_look_up",
    ),
    guard(
        "silence that later mail does not confirm says nothing",
        RETRIES,
        "    if not convincing:\n",
        "    if False:\n",
        f"{AFTER}test_a_silence_that_does_not_convince_is_none_at_any_point_of_the_schedule",
    ),
    guard(
        "silence is held against later mail",
        LOOK_UP,
        "convincing = witness is None or (isinstance(witness, LookedUp) and bool(witness.found))",
        "convincing = True",
        f"{DOUBT}test_while_the_search_does_not_show_later_mail_its_silence_does_not_count",
    ),
    guard(
        "later mail is asked for first",
        LOOK_UP,
        WITNESS,
        WITNESS_LAST,
        f"{DOUBT}test_a_search_that_catches_up_between_two_questions_proves_nothing_too_early",
    ),
    guard(
        "later mail that could not be asked for confirms nothing",
        LOOK_UP,
        "(isinstance(witness, LookedUp) and bool(witness.found))",
        "(isinstance(witness, NoInformation) or bool(witness.found))",
        f"{DOUBT}test_a_question_for_later_mail_that_fails_confirms_no_silence",
    ),
    guard(
        "only mail that was accepted later is later mail",
        KNOWN_OF_IT,
        "WHERE stream = %s AND started_at > %s AND accepted > 0",
        "WHERE stream = %s AND (started_at > %s OR true) AND accepted > 0",
        f"{DOUBT}test_earlier_mail_that_is_shown_confirms_no_silence",
    ),
    guard(
        "silence says nothing about what the provider has forgotten",
        RETRIES,
        "    if forgotten:\n",
        "    if False:\n",
        f"{AFTER}test_what_the_provider_has_forgotten_is_for_a_person_and_never_goes_again_by_"
        "itself",
    ),
    guard(
        "it is known what the provider has forgotten",
        LOOK_UP,
        "forgotten=doubt.is_forgotten,",
        "forgotten=False,",
        f"{DOUBT}test_doubt_that_is_older_than_postmarks_memory_waits_for_a_person",
    ),
    guard(
        "by the policy to hold a person decides",
        RETRIES,
        "    if not policy.resend_when_absent:\n",
        "    if False:\n",
        f"{AFTER}test_where_a_person_decides_nothing_is_sent_again",
    ),
    guard(
        "the absent have only so many tries",
        RETRIES,
        "    if tries + 1 >= policy.max_tries:\n        why",
        "    if False:\n        why",
        f"{AFTER}test_after_the_last_try_the_absent_are_missed_and_the_found_are_sent",
    ),
    guard(
        "a copy that cost two workers alone is parked",
        RETRIES,
        "    if suspected and alone:\n",
        "    if False:\n",
        f"{AFTER}test_a_batch_that_loses_its_worker_twice_is_halved_down_to_one_copy_and_parked",
    ),
    guard(
        "a batch that cost two workers during their calls is halved",
        RETRIES,
        "next=Next.HALVE if suspected and len(absent) > 1 else Next.TRY_AGAIN,",
        "next=Next.TRY_AGAIN,",
        f"{AFTER}test_a_batch_that_loses_its_worker_twice_is_halved_down_to_one_copy_and_parked",
    ),
    guard(
        "a batch is suspected after two lost workers",
        RETRIES,
        "    if crashes < CRASHES_BEFORE_SUSPICION:\n",
        "    if crashes <= CRASHES_BEFORE_SUSPICION:\n",
        f"{LOST}test_the_second_lost_worker_halves_the_batch_or_parks_the_copy",
    ),
    guard(
        "further copies that a look-up finds are handed on",
        RETRIES,
        "return replace(settlement, duplicates=duplicates)",
        "return settlement",
        f"{AFTER}test_of_two_copies_for_one_reader_the_first_counts_and_the_other_is_handed_on",
    ),
    guard(
        "what is found of other deliveries changes nothing",
        RETRIES,
        "        if recipient is None:\n            continue\n",
        "        if recipient is None:\n            recipient = -1\n",
        f"{AFTER}test_what_belongs_to_other_deliveries_changes_nothing",
    ),
    guard(
        "doubt without an attempt is asked about by each delivery's key",
        LOOK_UP,
        "        if isinstance(one, NoInformation):\n            return one\n",
        "        if isinstance(one, NoInformation):\n            continue\n",
        f"{DOUBT}test_a_search_by_key_that_fails_is_no_information",
    ),
    covered(
        "evidence is found at the next look-up",
        "Whoever gives up a lease heeds the evidence that is on record.",
        (
            Change(LOOK_UP, "_merged(answer.found, doubt.kept) if", "answer if"),
            Change(
                "delivery/queue/settle.py",
                "unheeded = unheeded_in(cursor, claim.batch)",
                "unheeded: list[int] = []",
            ),
        ),
        f"{SETTLING}test_evidence_that_is_only_on_record_settles_the_doubt_at_the_next_look_up",
    ),
]
