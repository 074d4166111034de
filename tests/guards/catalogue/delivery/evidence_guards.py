"""Guards of evidence, alarms and webhooks."""

from tests.guards.notation import guards

GUARDS = guards(r"""
the same acceptance twice is one piece of evidence
    record_acceptances: message_id) «ON CONFLICT DO NOTHING»
    test_only_a_third_copy_stops_a_resumed_edition_again
the acceptance on the delivery is not a second one
    record_acceptances: WHERE «NOT (outcome = 'sent' AND provider_message_id = message_id) → true»
    test_first_acceptance_needs_no_evidence_row
a second copy raises an alarm
    record_acceptances: «raise_duplicate_alarms(cursor, edition, recipients)» return new
    test_a_second_copy_raises_an_alarm_and_stops_the_edition
a second copy stops the edition
    raise_duplicate_alarms: if «new → False»: stop(
    test_a_second_copy_raises_an_alarm_and_stops_the_edition
a second copy that is seen again does not stop a resumed edition
    _raise_for: for message_id in ids[1:] «if message_id not in raised»]
    test_only_a_third_copy_stops_a_resumed_edition_again
two copies raise one alarm, in either order
    _raise_for: «missing = missing[: len(ids) - 1 - len(raised)]»
    test_repeated_second_acceptance_raises_one_alarm
an alarm is raised once for its subject
    raise_alarm: «ON CONFLICT (edition_id, kind, about) DO NOTHING»
    test_alarm_is_raised_once_per_subject
two simultaneous acceptances see one another
    record_acceptances: «_lock_batches(cursor, edition, recipients)»
    test_concurrent_acceptances_see_each_other
a delivery that a worker holds is left to it
    settle_by_evidence: WHERE «state NOT IN ('claimed', 'sending', 'looking_up') → true»
    test_leased_batch_is_left_to_its_worker
a reply that names another id than an earlier acceptance is noticed
    unapplied_evidence: (outcome <> 'sent' «OR provider_message_id <> message_id»)
    test_reply_with_another_id_is_a_second_copy
copies still queued after evidence settled others wait while the edition is stopped
    _SETTLE: WHEN «(SELECT control FROM edition WHERE id = %(edition)s) = 'running' → true»
    test_waiting_copies_follow_the_edition_after_a_look_up
an id on a delivery is preferred to another
    _SETTLE: «(message_id = provider_message_id) DESC NULLS LAST,» seen.id
    test_the_message_id_on_the_delivery_is_kept
a first batch that ends by evidence passes its turn to the next
    settle_by_evidence: «pass_probe_on(cursor, edition)»
    test_probe_settled_by_evidence_passes_the_probe_on
copies still queued after evidence settled others of a cancelled edition are not sent
    settle_by_evidence: «withdraw_if_cancelled(cursor, edition)»
    test_waiting_copies_follow_the_edition_after_a_look_up

# --- Webhooks ---
a webhook without the password is refused
    ProviderWebhook.post: if «→ False and» not _is_authorised(
    test_wrong_password_is_refused_and_stores_no_event
without credentials webhooks are refused
    PostmarkProvider.webhook_login: return f"{user}:{password}" «if user and password else ""»
    test_missing_credentials_answer_503_so_postmark_retries
a webhook larger than any event is refused
    ProviderWebhook.post: if «length > MAX_BODY_BYTES → False»:
    test_a_body_larger_than_any_event_is_refused
a length with thousands of digits is not parsed
    _content_length: «[:MAX_DIGITS]»
    test_huge_content_length_is_refused_unread
a future time is replaced by the time of receipt
    _apply_acceptance: by = «min(accepted.by, received_at) if accepted.by else None → accepted.by»
    test_future_times_and_odd_attempts_are_left_out
a webhook without a length is refused, not read as empty
    _content_length: if not given «and "HTTP_TRANSFER_ENCODING" not in request.META»:
    test_body_without_content_length_is_refused
the provider repeats an event that could not be stored
    _store_and_apply: return _respond(«503 → 200», "The event could not be stored.")
    test_webhook_answers_503_while_the_database_is_down
a repeated event is recognised
    store_all: «ON CONFLICT DO NOTHING» RETURNING id
    test_a_repeated_or_concurrent_event_counts_once
an event that is being applied is left to its process
    _lock: pending.select_for_update(«skip_locked=True»)
    test_event_being_applied_is_skipped
an event that cannot be applied is finally set aside
    event_inbox:waiting: filter(applied_at=None«, failures__lt=MAX_FAILURES»)
    test_failing_event_is_quarantined_without_blocking_others
""")
