"""Guards of provider events: counted once, in any order; no reader is revived."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a fault of the database counts against no event
    apply: if «stops_all_writes(error) → False»: raise
    test_a_fault_of_the_database_counts_against_no_event
a fault of the database stops the round of events
    apply_pending: if «stops_all_writes(error) or» not connection.is_usable()
    test_a_fault_of_the_database_counts_against_no_event
a worker that lost its lease stores nothing more
    _PollRun._extend_lease: if self._is_stopping() «or not
        periodic_task_lease.extend_lease(self._lease, lease_s=lease_s)»:
    test_a_worker_that_lost_its_lease_stores_no_more_events
a delivered copy is counted once
    count_first_delivered: AND recipient_id = %(recipient)s «AND delivered_at IS NULL»
    test_repeated_deliveries_and_returns_count_once
a bounced copy is counted once
    count_feedback: WHERE {delivery} «AND {what}_at IS NULL» AND NOT
    test_repeated_bounce_is_counted_once
the bounce rate is counted from the latest resume
    pause_if_over_threshold: sum(bounced) «- watched_bounced»,
    test_the_same_bounces_do_not_pause_a_resumed_edition
an unconfirmed copy counts as sent in the bounce rate
    pause_if_over_threshold: SELECT sum(sent + «unknown +» CASE
    test_unknown_copies_count_as_sent_in_rates
an event with another address than its copy changes nothing
    scope_of: if «_is_other_address(delivery, event.address_key) → False»:
    test_an_event_with_another_address_changes_nothing
an event without a readable address proves that its copy was accepted
    _is_other_address: if «not address_key → False»:
    test_an_event_without_a_plain_address_proves_acceptance
an event of another stream than its copy changes nothing
    scope_of: if «event.stream not in {"", delivery.stream} → False»:
    test_an_event_of_another_stream_than_its_copy_changes_nothing
an event of another program's stream changes nothing
    scope_of: is_ours = «event.stream == settings.TRANSACTIONAL_STREAM → True»
    test_an_event_of_another_programs_stream_changes_nothing
an event of an erased reader is compared with the hash
    _is_other_address: return reader not in (None, recipient) «and not
        asked.is_erased(address_key)»
    test_an_erased_readers_event_is_judged_by_the_hash
a report about mail on request does not stop the newsletter
    _concerns_newsletter: return «not event.is_on_request or → True or» effect
    test_only_a_complaint_about_mail_on_request_concerns_the_newsletter
a complaint about mail on request stops the newsletter
    _concerns_newsletter: return not event.is_on_request «or effect.act is Act.COMPLAINED»
    test_only_a_complaint_about_mail_on_request_concerns_the_newsletter
bounced mail on request is no bounced letter
    _keep_bounce: delivery = «None if event.is_on_request else» event.delivery
    test_other_soft_bounces_do_not_add_up
events older than an opt-in change nothing
    _apply: if «reader is not None and reader.opt_in is not None and at <= reader.opt_in.at →
        False»: return
    test_events_older_than_the_opt_in_have_no_effect
several bounces of one copy count as one
    _soft_bounces_are_enough_at: count(«DISTINCT (issue_id, version) → *»)
    test_other_soft_bounces_do_not_add_up
a concurrent opt-in is waited for
    _apply: readers = Subscriber.objects«.select_for_update(no_key=True)»
    test_events_older_than_an_uncommitted_opt_in_have_no_effect
an old event does not undo an operator's unblock
    _suppress: WHEN '' THEN «'{manual}' → '{}'» ELSE
    test_unblocking_does_not_lift_later_provider_reports
an unblock lifts only the operator's own block
    _suppress: OR («held.lifted_by_id IS NULL → false» AND excluded.reason <> ALL
    test_unblocking_does_not_lift_later_provider_reports
an address is inactive only if the provider says so
    parse_event: inactive=«event.get("Inactive") is True → bool(event.get("Inactive"))»
    test_address_is_inactive_only_if_the_event_states_it
our own lifting for a mail lifts no suppression of letters
    _address_event: is_our_own=«lift_for_mail.was_lifted_for_mail(event) → False»
    test_our_own_lifting_does_not_lift_the_suppression_of_letters
a reactivation before a newer report lifts nothing
    lift_reactivated: «Q(reported_at=None) | Q(reported_at__lt=at) → Q()»
    test_the_latest_report_of_the_provider_counts_in_any_order
a bounce that was lifted later no longer counts
    _apply: if «effect.act in LIFTABLE and was_lifted_since(event.stream, event.address_key, reader,
        at) → False»:
    test_the_latest_report_of_the_provider_counts_in_any_order
    test_only_later_bounces_count_after_an_author_lifted_one
a lifting that the provider accepted shows without its webhook
    _send: if «change == "reactivate" → False»:
    test_a_reader_gets_letters_after_an_author_lifted_a_bounce
an accepted lifting hides no later report of the provider
    save_lifted: refuses «AND held.at <= requested_at»
    test_a_report_after_the_request_outlasts_the_accepted_lifting
an address that another stream refuses stays suppressed
    lift_reactivated: «or _refusals(key, event.stream).exists()»
    test_an_address_that_another_stream_refuses_stays_suppressed
a reactivation stores nothing about an erased reader
    lift_reactivated: delete_provider_data(«key → ''»)
    test_a_reactivation_stores_nothing_about_an_erased_reader
a late unsubscribe counts after the lifting of a bounce
    _suppress: «'{manual,bounce}' → '{manual,bounce,unsubscribe,complaint}'» END
    test_a_complaint_or_unsubscribe_is_lifted_by_nobody
an author lifts nothing but a bounce
    can_lift_bounce: if «held is not None and (held.origin == Origin.OPERATOR or held.reason !=
        Reason.BOUNCE) → False»:
    test_an_author_lifts_nothing_but_a_bounce
an author's lifting is sent to the provider
    lift_bounce: «queue_suppression_change( → (lambda *_, **__: None)(»reader.email
    test_a_reader_gets_letters_after_an_author_lifted_a_bounce
an event caused by our own change is recognised
    _address_event: event.origin == "«Customer → Nobody»":
    test_a_webhook_about_our_own_request_changes_nothing
only the latest change of an address is sent
    _send_all: «_pending().filter(later).update(state=SuppressionChange.State.SUPERSEDED,
        done_at=Now())»
    test_only_the_last_request_about_an_address_is_sent
two workers never run one task
    acquire: «AND (lease_until IS NULL OR lease_until <= clock_timestamp())»
    test_two_workers_never_poll_at_once
a worker that lost its lease does not end the task
    _leased: filter(name=lease.name«, owner=lease.owner»)
    test_expired_lease_of_a_crashed_worker_is_taken_over
""")
