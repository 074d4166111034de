"""Guards of transactional mail: its place in the queue, numbers and recipients."""

from tests.guards.notation import guards

GUARDS = guards(r"""
mail is requested in the transaction of its cause
    request_mail: batch. " «require_transaction()»
    test_a_request_outside_a_transaction_is_refused
two simultaneous first requests share one edition
    _get_or_create: ignore_conflicts=«True → False») return
    test_two_first_requests_at_once_share_one_edition
a batch number that is taken is skipped
    _new_batch: «ON CONFLICT (id) DO NOTHING» RETURNING id
    test_batch_number_in_use_is_skipped
split-off batches are numbered above all drawn numbers
    NEXT_BATCH_ID: THEN 0 ELSE «{DRAWN_NUMBERS} → 0» END
    test_split_batches_are_numbered_above_all_drawn_numbers
a sign-up's mail goes before every newsletter
    AHEAD_OF_ALL: AHEAD_OF_ALL = «0 → 1_000_000»
    test_confirmations_go_before_a_huge_newsletter
an import's mails alternate with a newsletter
    _insert_deliveries: «place if ahead else place + → 0 if ahead else 0 *» number
    test_imported_requests_alternate_with_a_letter
mail requeued for a held-back edition starts no call
    start: if «control != "running" → False»:
    test_a_request_to_a_paused_edition_waits_without_a_call
a refused mail that its reader requested is lifted and sent
    _change_deliveries: if «inactive → False»: reader_hooks
    test_a_sign_up_after_a_bounce_gets_its_mail
only a reader's own request lifts a suppression
    REQUESTED_BY: «Q(act=Act.ASKED, how__in=OF_FORMS) → Q(act=Act.ASKED)»
    test_a_mail_that_no_reader_requested_lifts_nothing
Homing never asks to lift a known complaint
    _REQUEST: held.reason = '«SpamComplaint → Nothing»'
    test_the_provider_is_not_asked_to_lift_a_known_complaint
strangers cannot have an address lifted again and again
    _REQUEST: make_interval(days => %(days)s)) < «%(most)s → 999»
    test_an_address_is_lifted_only_a_few_times_a_month
one mail is lifted once
    _REQUEST: earlier.delivery = «key.delivery → ''»
    test_a_mail_that_is_refused_again_is_not_lifted_again
a mail that was sent again is not sent once more
    requeue_inactive: deliveries.filter(«outcome=Outcome.SUPPRESSED, reason=INACTIVE»)
    test_a_sign_up_after_a_bounce_gets_its_mail
transactional mail skips an address that an operator blocked
    readers_who_get_no_copy: AND («origin = 'operator' → false» OR
    test_a_blocked_address_gets_no_transactional_mail
transactional mail skips an erased reader
    readers_who_get_no_copy: WHERE «subscriber.id IS NULL OR» EXISTS
    test_an_unknown_recipient_is_withdrawn
a refused transactional mail costs no confirmed reader the newsletter
    RegisteredReaders.mark_refused: if «kind == Edition.Kind.NEWSLETTER → True»: mailable.append
    test_a_refused_transactional_mail_keeps_confirmed_readers
a welcome letter is enqueued in the transaction of the opt-in
    enqueue_welcome: letter. " «require_transaction()»
    test_an_opt_in_cannot_enqueue_its_letter_twice
a confirmed reader gets the welcome letter
    open_link: «enqueue_welcome( → dict(»
    test_each_opt_in_gets_one_letter
the links of two requests bring one welcome letter
    open_link: if «is_new → True»:
    test_the_links_of_two_requests_bring_one_letter
a welcome letter that a backup may lack is looked up before it is sent
    open_link: opt_in=request.number, «asked_at=asked.at → asked_at=None»
    test_an_old_link_pressed_after_a_restore_asks_first
a welcome letter skips a reader who left
    readers_who_get_no_copy: IF p_kind IN ('newsletter'«, 'welcome'») THEN
    test_readers_who_may_be_mailed_are_not_listed
a welcome letter has its own link if Postmark handles unsubscribes
    Renderer.__init__: not links.provider_placeholder «or edition.kind == Edition.Kind.WELCOME»
    test_a_welcome_letter_always_has_its_own_unsubscribe_link
the edition of transactional mail never ends
    sql: ALTER TABLE edition DROP CONSTRAINT mail_on_request_never_ends
    test_confirmation_edition_never_ends
""")
