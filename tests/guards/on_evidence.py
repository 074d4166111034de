"""Guards of what is known to have been accepted, of alarms, and of the webhooks that tell."""

from __future__ import annotations

from tests.guards.guard import guard

EVIDENCE_KEPT = "delivery/queue/evidence.py"
EVENTS = "delivery/queue/provider_event.py"
WEBHOOK = "delivery/webhook.py"

EVIDENCE = "tests/delivery/test_evidence_of_acceptance.py::"
WEBHOOKS = "tests/delivery/test_webhooks.py::"

GUARDS = [
    guard(
        "the same acceptance twice is one piece of evidence",
        EVIDENCE_KEPT,
        "        ON CONFLICT DO NOTHING\n",
        "",
        f"{EVIDENCE}test_seeing_a_second_copy_again_stops_nothing_that_a_person_resumed",
    ),
    guard(
        "an acceptance that stands on its delivery is no second one",
        EVIDENCE_KEPT,
        "WHERE NOT (outcome = 'sent' AND provider_message_id = message_id)",
        "WHERE true",
        f"{EVIDENCE}test_the_acceptance_that_stands_on_its_delivery_needs_no_row",
    ),
    guard(
        "a second copy raises an alarm",
        EVIDENCE_KEPT,
        "    raise_second_copies(cursor, edition, recipients)\n    return new",
        "    return new",
        f"{EVIDENCE}test_a_second_copy_raises_an_alarm_and_stops_the_edition",
    ),
    guard(
        "a second copy stops the edition",
        EVIDENCE_KEPT,
        "    if new:\n        stop(",
        "    if False:\n        stop(",
        f"{EVIDENCE}test_a_second_copy_raises_an_alarm_and_stops_the_edition",
    ),
    guard(
        "a second copy that is seen again stops nothing that was resumed",
        EVIDENCE_KEPT,
        "for message_id in ids[1:] if message_id not in raised]",
        "for message_id in ids[1:]]",
        f"{EVIDENCE}test_a_third_copy_is_another_alarm",
    ),
    guard(
        "of two copies one is an alarm, whichever of them",
        EVIDENCE_KEPT,
        "    missing = missing[: len(ids) - 1 - len(raised)]\n",
        "",
        f"{EVIDENCE}test_a_copy_with_an_alarm_that_comes_to_stand_on_its_delivery_raises_none_for_"
        "the_other",
    ),
    guard(
        "an alarm is raised once for what it is about",
        "delivery/queue/alarms.py",
        "        ON CONFLICT (edition_id, kind, about) DO NOTHING\n",
        "",
        f"{EVIDENCE}test_an_alarm_is_raised_once_for_what_it_is_about",
    ),
    guard(
        "two acceptances at the same time see one another",
        EVIDENCE_KEPT,
        "    _lock_batches(cursor, edition, recipients)\n",
        "",
        f"{EVIDENCE}test_two_acceptances_that_are_seen_at_the_same_time_do_not_miss_one_another",
    ),
    guard(
        "what a worker holds is left to it",
        EVIDENCE_KEPT,
        "WHERE state NOT IN ('claimed', 'sending', 'looking_up')",
        "WHERE true",
        f"{EVIDENCE}test_what_a_worker_holds_is_left_to_it",
    ),
    guard(
        "a reply that names another id than an earlier acceptance is noticed",
        EVIDENCE_KEPT,
        "AND (outcome <> 'sent' OR provider_message_id <> message_id)",
        "AND outcome <> 'sent'",
        f"{EVIDENCE}test_a_reply_that_names_another_id_than_the_early_webhook_is_a_second_copy",
    ),
    guard(
        "what waits beside settled doubt waits for a person where the edition does not run",
        EVIDENCE_KEPT,
        "WHEN (SELECT control FROM edition WHERE id = %(edition)s) = 'running'",
        "WHEN true",
        f"{EVIDENCE}test_of_a_stopped_edition_what_waits_beside_the_doubt_waits_for_a_person",
    ),
    guard(
        "an id that a delivery bears is preferred to another",
        EVIDENCE_KEPT,
        "(message_id = provider_message_id) DESC NULLS LAST, seen.id",
        "seen.id",
        f"{EVIDENCE}test_of_two_proofs_the_id_that_the_delivery_bears_counts",
    ),
    guard(
        "a first batch that ends by evidence passes its turn on",
        EVIDENCE_KEPT,
        "    pass_probe_on(cursor, edition)\n",
        "",
        f"{EVIDENCE}test_the_first_batch_after_a_fault_that_ends_by_evidence_passes_its_turn_on",
    ),
    guard(
        "what waits beside settled doubt of a cancelled edition never goes",
        EVIDENCE_KEPT,
        "    withdraw_if_cancelled(cursor, edition)\n",
        "",
        f"{EVIDENCE}test_of_a_cancelled_edition_what_waits_beside_the_doubt_never_goes",
    ),
    # --- Webhooks ---------------------------------------------------------------------------------
    guard(
        "a webhook without the password is refused",
        WEBHOOK,
        "if not _may_come_in(",
        "if False and not _may_come_in(",
        f"{WEBHOOKS}test_who_does_not_know_the_password_is_refused_and_nothing_is_kept",
    ),
    guard(
        "without credentials nobody may tell anything",
        WEBHOOK,
        "if not (settings.POSTMARK_WEBHOOK_USER and settings.POSTMARK_WEBHOOK_PASSWORD):",
        "if False:",
        f"{WEBHOOKS}test_without_both_credentials_webhooks_are_refused_in_a_way_that_loses_none",
    ),
    guard(
        "a webhook larger than any event is refused",
        WEBHOOK,
        "if length > LONGEST_BODY:",
        "if False:",
        f"{WEBHOOKS}test_a_body_larger_than_any_event_is_refused",
    ),
    guard(
        "a length of thousands of digits is not read",
        WEBHOOK,
        "[:MOST_DIGITS]",
        "",
        f"{WEBHOOKS}test_a_length_of_thousands_of_digits_is_too_large_and_nothing_is_read",
    ),
    guard(
        "a time that is still to come is when the event was seen",
        EVENTS,
        "said.accepted.told_at(received_at)",
        "said.accepted",
        f"{WEBHOOKS}test_a_time_that_is_still_to_come_is_when_the_event_was_seen",
    ),
    guard(
        "a webhook that broke off is not taken for a whole one",
        WEBHOOK,
        '            return _answer(408, "The event broke off.")\n',
        '            body = b""\n',
        f"{WEBHOOKS}test_a_body_that_breaks_off_is_not_kept_and_may_come_again",
    ),
    guard(
        "a webhook of untold length is not taken for an empty one",
        WEBHOOK,
        'if not told and "HTTP_TRANSFER_ENCODING" not in request.META:',
        "if not told:",
        f"{WEBHOOKS}test_a_body_of_untold_length_is_not_taken_for_an_empty_one",
    ),
    guard(
        "an event that could not be kept may come again",
        WEBHOOK,
        'return _answer(503, "The event could not be kept.")',
        'return _answer(200, "The event could not be kept.")',
        f"{WEBHOOKS}test_a_site_whose_database_is_down_asks_postmark_to_come_again",
    ),
    guard(
        "the same event again is the same event",
        EVENTS,
        "ON CONFLICT DO NOTHING RETURNING id",
        "RETURNING id",
        f"{WEBHOOKS}test_the_same_event_again_is_the_same_event",
    ),
    guard(
        "an event that is being applied is left to whoever applies it",
        EVENTS,
        "        FOR UPDATE SKIP LOCKED\n",
        "        FOR UPDATE\n",
        f"{WEBHOOKS}test_an_event_that_is_being_applied_is_left_to_whoever_applies_it",
    ),
    guard(
        "an event that cannot be applied is set aside in the end",
        EVENTS,
        "WHERE applied_at IS NULL AND failures < %s",
        "WHERE applied_at IS NULL AND failures < 1000 + %s",
        f"{WEBHOOKS}test_an_event_that_cannot_be_applied_holds_up_no_other_and_is_set_aside",
    ),
]
