"""Guards of imports: one run, each row once, no revived reader, bounded memory."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- The same content again ---
a finished import does not start again
    start_import: filter(pk=import_id«, state__in=from_states»)
    test_pressing_import_twice_imports_once_and_keeps_the_first_choice

# --- Undo ---
an undo waits for a publication, and a publication for an undo
    _undo_chunk: «wait_for_enqueues()» running.hold()
    test_a_publication_waits_for_a_running_chunk
a confirmation call that starts during an undo keeps its readers
    load_mailed: «cursor.execute(_LOCK_BATCHES, values)»
    test_a_call_that_starts_first_keeps_its_readers
a reader who confirms during an undo stays
    _undo_chunk: list(locked«.select_for_update()»
    test_a_reader_who_confirms_during_the_undo_stays
an enqueued copy of a newsletter counts as mailed
    _MAILED: «kind = 'newsletter' OR» outcome
    test_withdrawn_copies_do_not_count_as_mailed
a confirmation whose call has started counts as mailed
    _MAILED: «OR batch.state NOT IN ('ready', 'claimed', 'paused')»
    test_a_confirmation_counts_from_the_start_of_its_call
readers of dropped copies count as mailed
    why_kept: «may_be_mailed → False»: return "kept_mailed"
    test_readers_whose_copies_were_dropped_count_as_mailed
a reader who signed up themselves stays
    READERS: «OR coalesce(since.asked, false)»
    test_mailed_opted_in_and_changed_readers_stay
a changed reader stays
    READERS: «edited_at IS NOT NULL OR» since
    test_mailed_opted_in_and_changed_readers_stay
the database keeps changed readers from an undo
    sql: DROP TRIGGER subscriber_is_edited ON subscriber
    test_the_database_keeps_changed_readers_from_an_undo

# --- Readers of an import ---
an import does not revive a reader who unsubscribed, bounced or complained
    SKIP_UNMAILABLE: «subscriber.state IN ('unsubscribed', 'bounced', 'complained')
        OR»
    test_gone_readers_are_skipped_with_a_reason
an import adds no reader with a suppressed address
    SKIP_UNMAILABLE: «OR suppression.id IS NOT NULL»)
    test_a_suppressed_address_is_skipped_known_or_not
a lifted suppression excludes no reader
    SKIP_UNMAILABLE: «AND suppression.lifted_at IS NULL»
    test_a_lifted_suppression_skips_nobody
an import does not revive an erased reader
    _skip: «cursor.execute(SKIP_ERASED, [list(erased)]) → pass»
    test_an_erased_reader_is_skipped_with_a_reason
an import records nothing about an erased reader
    SKIP_ERASED: SET why = 'erased'«, email = ''»
    test_an_erased_reader_is_skipped_with_a_reason
an import does not change a known reader
    ADD: ON CONFLICT (email_key) DO «NOTHING → UPDATE SET name = excluded.name» RETURNING id, email
    test_a_known_reader_is_counted_and_unchanged
a check adds no reader
    _add: if «record.state == State.CHECKING → False»:
    test_an_upload_shows_the_dry_run_and_changes_nothing
a reader without stated consent is asked to confirm
    _add: if asked := «_in_slices(cursor, TO_BE_ASKED) → []»:
    test_an_import_matches_its_check_and_asks_readers_to_confirm
consent given elsewhere is stated, not assumed
    _what_is_missing: if «not states_it → False»:
    test_stated_consent_needs_both_checkbox_and_details
consent given elsewhere has a source
    _what_is_missing: if «not where → False»:
    test_stated_consent_needs_both_checkbox_and_details

# --- Rows with a status ---
an unknown status rejects its row
    ReaderFile.rows: «yield BadRow(line, excerpt(email), row_status, fields) →
        yield Row(line, email, layout.values_in(fields))»
    test_each_row_is_imported_by_its_status[members.2026-10-01.csv]
the most severe status of a row counts
    StatusRule.of: gravest = max(statuses, key=«_GRAVITY.__getitem__ → lambda _: 0», default
    test_columns_of_any_product_are_recognised_by_name
a row with an empty status is no consent
    _Product: silence: Status | InputRefusal = Status.«UNCONFIRMED → SUBSCRIBED»
    test_columns_of_any_product_are_recognised_by_name
a Mailchimp file of contacts without consent brings nobody
    StatusRule.of: is_refused = «isinstance(self.silence, InputRefusal) → False»
    test_no_column_outweighs_the_name_of_a_mailchimp_file
an unsubscribed reader needs no valid name
    validate_row: if «row.status is not None and row.status.status.is_gone → False»:
    test_a_row_with_a_gone_status_needs_only_an_address
a row with too many columns still counts as unsubscribed
    ReaderFile.rows: if «isinstance(row_status, RowStatus) and row_status.status.is_gone → False»:
    test_a_row_with_a_gone_status_needs_only_an_address
an unreadable date does not keep a reader subscribed
    _StatusColumn.left_at: return latest_date(value) or «UNREADABLE_DATE → None»
    test_a_date_is_read_in_many_forms
any text in a column of dates says that the reader left
    _StatusColumn.read: if «self.is_date → False» or self._has_date(value):
    test_an_unreadable_date_of_leaving_is_counted
a reader unconfirmed in the file is asked, whatever is stated
    ADD: %(confirmed)s «AND status IS DISTINCT FROM 'unconfirmed'»
    test_only_unconfirmed_readers_are_asked
an unstated subscription is confirmed by the second statement alone
    ADD: «AND (status IS DISTINCT FROM 'unstated' OR %(list_is_confirmed)s)»
    test_without_the_statement_about_the_list_readers_are_asked
a reader unsubscribed in the file is not added
    SKIP_GONE: AND candidate.why IS NULL AND «candidate.has_left → false»
    test_each_row_is_imported_by_its_status[members.2026-10-01.csv]
a reader unsubscribed in the file is suppressed
    _skip: «cursor.execute(SUPPRESS_GONE) → pass»
    test_each_row_is_imported_by_its_status[members.2026-10-01.csv]
a known reader unsubscribed in the file is unsubscribed
    _skip: «cursor.execute(UPDATE_GONE) → pass»
    test_an_imported_reader_who_is_gone_gets_no_mail
a known reader unsubscribed in the file has it recorded
    _skip: «cursor.execute(RECORD_GONE, [record.pk]) → pass»
    test_an_imported_reader_who_is_gone_gets_no_mail
a check suppresses no address
    _skip: if «record.state != State.CHECKING → True»:
    test_the_page_shows_the_product_and_the_statuses
a row that says unsubscribed is no duplicate
    REMOVE_DUPLICATES: excluded.has_left AND (NOT seen.has_left «OR seen.line = excluded.line»)
    test_an_unsubscribed_row_counts_anywhere_in_the_file
who is gone further down is not mailed for an earlier row
    _run: «_note_gone(running, file) → pass»
    test_no_piece_mails_a_reader_who_is_gone_further_down
within a piece the unsubscribed rows go first
    REMOVE_DUPLICATES: ORDER BY email_key, «has_left DESC NULLS LAST,» line
    test_an_unsubscribed_row_counts_anywhere_in_the_file
a confirmation here counts more than another product's file
    SKIP_GONE: WHEN «subscriber.state = 'confirmed' → false»
    test_an_opted_in_reader_stays_unless_they_left_later
a reader who unsubscribed after confirming here is unsubscribed
    SKIP_GONE: coalesce(«candidate.left_at → NULL::timestamptz», '-infinity')
    test_an_opted_in_reader_stays_unless_they_left_later
an import puts no topic on a known reader who left it
    TAG_KNOWN: SET tags = tags_with_1(subscriber.tags, «subscriber.left_topics → '{}'», added)
    test_known_readers_get_tags_but_no_topic_that_they_left
a topic that a reader left elsewhere stays left
    ADD: tags_with_1('{}', left_topics, tags || %(tags)s), «left_topics → '{}'»
    test_topics_left_elsewhere_stay_left
a more severe suppression stays
    SUPPRESS_GONE: «OR gravity_of_suppression_1(excluded.reason, excluded.origin)
        > gravity_of_suppression_1(held.reason, held.origin) → OR true»
    test_a_more_serious_suppression_is_kept
a reader unsubscribed in a file who never signed up gets no confirmation mail
    readers_who_get_no_copy: OR origin = 'import' AND «NOT EXISTS → EXISTS»
    test_a_pending_reader_gets_no_unrequested_mail
a reader's own opt-in lifts a file's suppression
    _make_a_reader: suppressions.«exclude(origin=Suppression.Origin.OPERATOR) → filter(
        origin=Suppression.Origin.PROVIDER)»
    test_a_pending_reader_gets_no_unrequested_mail
an address that an operator unblocks stays suppressed by a file
    reported_reasons: how__in=(How.PROVIDER, «How.IMPORT»)
    test_only_the_readers_opt_in_resubscribes
an address that an operator unblocks stays blocked by a file
    reported_reasons: if «reported.filter(act=Act.BLOCKED, how=How.IMPORT).exists() → False»:
    test_an_operator_cannot_lift_a_block_by_another_source
nobody is subscribed by rejected rows of an unknown file
    layout_of: if «reading and reading.is_guess → False»:
    test_nobody_is_confirmed_by_rows_of_an_unknown_file

# --- Reports and permissions ---
a form from another site uploads nothing
    takes_upload: checked = «csrf_protect(view) → view»
    test_an_upload_is_refused_without_its_token
    test_every_form_needs_its_csrf_token
users without permission for readers cannot upload
    imports: «@may_manage_readers» @require_http_methods(["GET", "HEAD", "POST"])
    test_each_page_is_open_only_to_its_groups[readers:imports]
""")
