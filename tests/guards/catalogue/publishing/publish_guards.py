"""Guards of publishing and posted forms: once per key, once per version."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- Drafts ---
a draft is published once, by anyone
    publish_draft: if «locked.edition is not None → False»:
    test_concurrent_press_publishes_once_and_names_the_other_author
an issue that may have reached a reader does not become a draft again
    restore_draft: if «not reached_nobody(edition.pk) → False»:
    test_cancelling_makes_no_draft_if_a_reader_may_have_it[sent]
an issue with unconfirmed copies does not become a draft again
    reached_nobody: (counts.sent «or counts.unknown» or counts.waiting)
    test_cancelling_makes_no_draft_if_a_reader_may_have_it[doubt]
a truncated body is refused, not read as a shorter one
    Connection._refuse: «request.refuse(kind) → request.completed = True»
    test_truncated_bodies_never_reach_the_site
no draft is saved while it becomes an edition
    publish_draft: Draft.objects.«select_for_update(of=("self",)).»filter(pk=draft)
    test_text_changed_between_check_and_claim_is_not_published
the text that an author saw is published
    publish_draft: «(locked.revision, content.sha256) != (confirmed.revision,
        confirmed.content_hash) → False»
    test_text_changed_between_check_and_claim_is_not_published

# --- Publishing ---
a key belongs to its first use
    _find_earlier: if «not options.are_met_by(edition, content) → False»:
    test_key_belongs_to_its_content_version_and_readers
a key belongs to its text
    PublishOptions.are_met_by: «and has_content(edition, content)»
    test_key_belongs_to_its_content_version_and_readers
a key belongs to its audience
    PublishOptions.are_met_by: same_version «and self.goes_to in (None, edition.goes_to)»
    test_key_belongs_to_its_content_version_and_readers
a key belongs to the chosen address
    PublishOptions.are_met_by: «and self.has_address_of(edition)» and has_content
    test_a_repeated_key_is_bound_to_the_address
a key belongs to its version
    PublishOptions.are_met_by: «same_version and» self.goes_to in (None, edition.goes_to)
    test_correction_and_new_issue_cannot_share_a_key
    test_key_belongs_to_its_content_version_and_readers
an existing version is not published again
    _find_earlier: «versions_of(options.issue).filter(version=options.version).defer(None).first() →
        None»
    test_existing_version_sends_nothing_and_is_returned
only the next version is published
    publish: : if «refusal → False»:
    test_version_that_is_not_next_is_refused_with_reason
if two authors publish the same version, the second gets the first one's edition
    publish: if «constraint_of(error) in (ONE_PER_KEY, ONE_PER_VERSION, ADDRESS_STAYS) → False»:
    test_concurrent_publication_waits_and_returns_the_first_edition
an issue that may have been sent keeps its URL
    update_address: if issue.slug not in addresses and «not _is_address_fixed(issue) → True»:
    test_archive_address_stays_once_a_copy_may_have_been_sent[sent]
if two authors rename a called-back issue, the second gets the first one's edition
    publish: in (ONE_PER_KEY, ONE_PER_VERSION«, ADDRESS_STAYS»):
    test_renaming_a_called_back_issue_twice_publishes_once
publishing is complete or has no effect
    publish: with «transaction.atomic → __import__('contextlib').nullcontext»(): edition =
    test_concurrent_publication_waits_and_returns_the_first_edition
a draft goes only to the readers whom its tags choose
    publish_draft: tags=«choice_of(locked.with_tags, locked.without_tags) → None»,
    test_a_draft_goes_to_the_chosen_tags
a correction goes only to readers confirmed now
    select_audience: «return readers → from subscribers.models import Subscriber¶return
        Subscriber.objects.values_list("id", "email", "name")».filter( Exists(
    test_reached_reader_who_unsubscribed_gets_no_correction
a version for the unreached goes only to readers confirmed now
    select_audience: «return readers → from subscribers.models import Subscriber¶return
        Subscriber.objects.values_list("id", "email", "name")».filter( ~Exists(
    test_unreached_reader_who_unsubscribed_gets_nothing
a correction for the reached goes only to readers of an earlier copy
    select_audience: Exists(deliveries«.filter(outcome=Outcome.SENT)»)
    test_correction_for_reached_readers_needs_a_sent_earlier_copy
a correction for the unreached skips sent and unconfirmed copies
    select_audience: Q(outcome__in=[«Outcome.SENT, Outcome.UNKNOWN»])
    test_unreached_excludes_sent_and_unconfirmed_copies
a correction for the unreached skips a copy with a time
    select_audience: «| Q(sent_at__isnull=False)»
    test_a_copy_with_a_mark_is_not_unreached[sent_at]
a correction for the unreached skips a copy with the provider's id
    select_audience: «| Q(provider_message_id__isnull=False)»
    test_a_copy_with_a_mark_is_not_unreached[provider_message_id]
a correction for the unreached skips a copy with a recorded acceptance
    select_audience: deliveries.filter(may_have_left))«, ~Exists(Evidence.objects.filter(**theirs))»
    test_a_copy_with_a_mark_is_not_unreached[evidence]
a version for the unreached waits while an earlier version is still being sent
    unreached_refusal: if «counts.control not in {"cancelled", "closed"} and not is_over → False»:
    test_unreached_audience_waits_until_no_earlier_copy_can_be_sent[waits]
a version for the unreached waits for the calls of a cancelled version
    unreached_refusal: if «counts.control in {"cancelled", "closed"} and counts.waiting → False»:
    test_unreached_audience_waits_until_no_earlier_copy_can_be_sent[in_a_call]
a version for the unreached waits for the decision about missed readers
    unreached_refusal: counts.unknown «or counts.missed»
    test_unreached_audience_waits_until_no_earlier_copy_can_be_sent[was_missed]
an audience is the confirmed readers who may be mailed
    confirmed: «state=Subscriber.State.CONFIRMED → state__isnull=False»)
    test_only_confirmed_readers_are_in_the_audience

# --- Posted forms ---
one of many posts of a form does the work
    claim: if inserted «→ or True»: return None
    test_one_of_20_concurrent_posts_does_the_work
a post waits for the one before it
    _insert: VALUES (%s, %s, %s) «ON CONFLICT DO NOTHING»",
    test_three_posts_wait_and_others_get_409_at_once
only a few posts wait for one key
    claim: if «not has_slot → False»:
    test_three_posts_wait_and_others_get_409_at_once
a post waits no longer than allowed
    claim: «_set_statement_timeout(f"{max(1, math.ceil(wait_s * 1000))}ms")»
    test_consecutive_failures_do_not_extend_the_wait
the wait's limit does not limit the work
    claim: «_set_statement_timeout(timeout_before)»
    test_the_limit_of_the_wait_does_not_limit_the_work
a key of another form does not return that form's answer
    find_earlier: return response if «bytes(fingerprint) in fingerprints → True» else
    test_other_content_under_the_same_key_gets_422
a claim is made only under READ COMMITTED
    _prepare: if «isolation != "read committed" → False»:
    test_the_claim_refuses_a_connection_with_a_stricter_level
a process that holds a claim silently is cut off
    _prepare: «set_config('idle_in_transaction_session_timeout', %s, true) → %s::text», CASE
    test_a_frozen_process_is_disconnected_and_rolled_back
a process that died in a statement frees its key
    _prepare: «set_config('client_connection_check_interval', %s, true) → %s::text»,
    test_a_process_killed_in_a_statement_frees_the_key
work and its answer are one separate transaction
    run_once: with transaction.atomic(«durable=True»):
    test_a_post_inside_another_transaction_is_refused
unsuccessful work is rolled back and forgotten
    _work: «transaction.set_rollback(True) → pass» elif used_csrf_token:
    test_an_unsuccessful_response_is_returned_and_not_saved
an answer with a browser's token is not saved
    _work: elif «used_csrf_token → False»:
    test_a_response_with_a_csrf_token_is_refused
an answer is saved once, in the row that was claimed
    save_response: if «cursor.rowcount != 1 → False»: raise BrokenClaimError
    test_work_that_deletes_its_claim_is_refused
a saved answer is not overwritten
    SAVE: AND idempotency_key = %s «AND response_status_code IS NULL»
    test_work_that_answers_its_own_claim_is_refused
a claim without an answer is not returned as an answer
    find_earlier: if «status is None → False»:
    test_a_committed_claim_without_a_response_is_an_error
keys belong to their user
    READ: FROM idempotency WHERE «user_id = %s → (user_id = %s OR true)» AND idempotency_key = %s
    test_keys_belong_to_their_user
an edition under the key of a draft closes the draft
    publish: «save_draft.link_to_edition(closing, edition,
        copy_for=None if draft else author) → pass»
    test_a_post_publishes_its_text_and_keeps_the_draft
a post under the key of a draft keeps the draft's other text
    link_to_edition: if copy_for is not None and «not _makes(draft.fields, edition) → False»:
    test_a_post_publishes_its_text_and_keeps_the_draft
the database itself holds: a new draft is linked to the edition of its key
    sql: DROP TRIGGER the_key_of_a_draft_makes_one_edition ON draft
    test_database_links_a_drafts_key_to_one_edition
the database itself holds: a new edition is linked to the draft of its key
    sql: DROP TRIGGER the_key_of_a_draft_makes_one_edition ON edition
    test_database_links_a_drafts_key_to_one_edition
""")
