"""Guards of imports: one run, each row once, no revival, bounded memory."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- One process at a time ---
a leased import cannot be claimed by another worker
    claim_import: «AND (lease_until IS NULL OR lease_until < clock_timestamp())»
    test_a_leased_import_cannot_be_claimed

# Each process chooses a new owner for each claim, so owner and epoch always change together.
a process that lost its lease to another writes nothing more
    guard: AND «owner = %s AND epoch = %s → %s IS NOT NULL AND %s IS NOT NULL» AND state = %s
    test_a_lost_lease_prevents_writing
each claim of an import raises its epoch
    claim_import: epoch = epoch «+ 1», stalled_claims
    test_two_workers_run_one_import_once
a process whose lease has expired writes nothing
    guard: «AND lease_until >= clock_timestamp()»
    test_an_expired_lease_prevents_writing
every piece begins with a check of the lease
    _apply_chunk: «guard(cursor, lease)» cursor.execute(ONE_AT_A_TIME)
    test_a_lease_lost_between_chunks_prevents_writing
only the holder of an import ends it
    _finish: with transaction.atomic(), connection.cursor() as cursor: «guard(cursor, lease)»
    test_a_lease_lost_between_chunks_prevents_writing
a process that freezes within a piece does not block others forever
    guard: SELECT set_config('«idle_in_transaction_session_timeout → application_name»', %s, true)
    test_the_server_ends_a_frozen_transaction_with_its_lease
imports take turns after each piece
    _apply_chunk: «cursor.execute(ONE_AT_A_TIME)»
    test_only_one_import_applies_a_chunk_at_a_time
an import that never advances is finally refused
    run: elif «lease.stalled_claims > MAX_STALLED_CLAIMS → False»:
    test_an_import_without_progress_is_refused

# --- Each row once ---
the checkpoint is in the transaction of its piece
    _apply_chunk: store_rejected_rows(record.pk, apply_rows(record, validated, file.fields) «→
        + [cursor.execute("COMMIT"), cursor.execute("BEGIN")][2:]»)
    test_a_chunk_killed_before_its_checkpoint_leaves_nothing
a continued import skips finished rows
    _run: «_skip_to_checkpoint(rows, record.rows, lease, is_stopping)»
    test_a_stopping_worker_releases_the_import_after_a_chunk
an upload has at most 20 files
    imports: if «len(files) > MOST_FILES → False»:
    test_a_bad_file_among_several_keeps_all_out
an upload may be read for longer than other work may be silent
    upload_import: «allow_silence(LONGEST_READING) → pass»
    test_a_file_that_takes_long_to_read_is_stored
the lists of an uploaded ZIP are stored together
    imports: «with transaction.atomic() → if True»:
    test_an_upload_checks_each_list_or_none
unknown lists in a ZIP are not guessed
    choose_lists: if «len(found) > 1 → False»: shown
    test_an_unusable_zip_is_refused_with_one_sentence
logs of issues in a ZIP are no lists of readers
    choose_lists: if «not _OF_ISSUES.fullmatch(name) → True»
    test_lists_of_readers_are_chosen_by_name
an import begins without the notes of its check
    _run: cursor: guard(cursor, lease) «delete_noted_rows(lease.import_id)»
    test_an_import_matches_its_check_and_asks_readers_to_confirm
an address of an earlier piece is a duplicate too
    REMOVE_DUPLICATES: WHERE «line NOT IN (SELECT line FROM first_time) → false»
    test_duplicates_are_found_across_chunks
content that differs from the announced hash is discarded
    store: if «digest.digest() != content_hash → False»:
    test_a_file_that_changes_during_upload_is_refused
missing bytes of stored content are noticed
    _run: if «file.import_hash != bytes(record.content_hash) → False»:
    test_missing_bytes_of_a_stored_file_are_detected
a file of several pieces arrives complete
    spooled: «while → if» piece := pieces.filter(number=number)
    test_a_large_file_is_imported_despite_bad_rows
a NUL byte rejects its row and not the import
    records: BadRow(number, «excerpt(line) → line[:LONGEST_EXCERPT]», fault, _storable(line))
    test_a_large_file_is_imported_despite_bad_rows
a file that changes during a dry run is noticed
    ReaderFile.rows: if «reader.digest() != self.content_hash → False»:
    test_a_dry_run_reports_a_file_that_changes

# --- The same content again ---
the database itself holds: one import per content
    sql: DROP INDEX one_import_per_content
    test_the_same_content_is_imported_once
the same content again leads to the first import
    import_file: ().filter(content_hash=file.import_hash«→ , filename=name»).first()
    test_the_same_content_returns_the_first_report
a finished import does not start again
    start_import: filter(pk=import_id«, state__in=from_states»)
    test_pressing_import_twice_imports_once_and_keeps_the_first_choice
a finished import cannot be discarded
    discard: filter(pk=import_id«, state__in=NOT_IMPORTED»
    test_an_imported_file_cannot_be_discarded

# --- Undo ---
an undo waits for a publication, and a publication for an undo
    _undo_chunk: «wait_for_enqueues()» guard(
    test_a_publication_waits_for_a_running_chunk
a process that lost its lease undoes nothing more
    _undo_chunk: «guard(cursor, lease)»
    test_a_lost_lease_prevents_an_undo_from_writing
the checkpoint of an undo is in the transaction of its chunk
    _undo_chunk: «→ cursor.execute("COMMIT")¶cursor.execute("BEGIN")¶» counts = Counter
    test_a_chunk_without_its_checkpoint_takes_nobody_back
a confirmation call that starts during an undo keeps its readers
    load_mailed: «cursor.execute(_LOCK_BATCHES, values)»
    test_a_call_that_starts_first_keeps_its_readers
a reader who confirms during an undo stays
    _undo_chunk: «cursor.execute(LOCK_READERS, [record.pk, first, last])»
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
the database itself holds: an undo counts each added reader once
    sql: ALTER TABLE subscriber_import DROP CONSTRAINT an_undo_counts_added_readers_once
    test_a_row_that_contradicts_itself_is_refused
only an ended import is undone
    start_undo: filter(«has_ended,» pk=import_id)
    test_only_an_ended_import_is_undone
the address of an undone reader leaves their copies
    _undo_chunk: «anonymise_unconfirmed(gone, mailed.issues) → pass»
    test_an_undone_import_leaves_nothing_and_can_be_repeated

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
    SKIP_ERASED: RETURNING line, «'' → email», 'erased
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
a row of a file with statuses is read with its status
    ReaderFile.rows: row_status = «status.of(fields) if status else None → None» if
        isinstance(row_status, InputRefusal)
    test_each_row_is_imported_by_its_status[members.2026-10-01.csv]
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
status words and product marks are known header words
    _header_at: status_words = [word for word in keys if «status.is_known(word) → False»]
    test_an_unusual_header_hides_nobody_who_left
a column of statuses is recognised without its name
    layout_of: if «rule is None and status_like - not_status → False»:
    test_a_column_of_statuses_needs_no_header
a column of statuses may have other words beside “gone”
    are_statuses: len(words) / 2 if «says_gone → False»
    test_an_unusual_header_hides_nobody_who_left
an exported field is not read as a status
    csv_lines: {*HEADER«, *with_other_meaning(keys)»}
    test_an_exported_field_of_any_name_is_imported_again
the name of a Mailchimp file outweighs its columns
    StatusRule.of: if «isinstance(self.silence, Status) and self.silence.is_gone → False»:
    test_no_column_outweighs_the_name_of_a_mailchimp_file
a Mailchimp file of contacts without consent brings nobody
    StatusRule.of: is_refused = «isinstance(self.silence, InputRefusal) → False»
    test_no_column_outweighs_the_name_of_a_mailchimp_file
a status that the importer ignores is no consent
    layout_of: rule = «SILENT → None»
    test_an_ignored_status_is_not_consent
an ignored status outweighs another column that says subscribed
    layout_of: rule = replace(rule, left_out=«tuple(left_out) → ()»)
    test_an_ignored_status_outweighs_another_one
a downloaded list of readers says who is suppressed
    csv_lines: «code_of(reader.suppressed) → ""»
    test_a_list_of_readers_brings_back_nobody_who_is_suppressed
a list of readers says who is suppressed
    _status_column: if «product is _HOMING and word == "suppressed" → False»:
    test_readers_alone_bring_back_nobody_who_is_suppressed
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
a renamed Mailchimp file is no consent
    _product_of: silence=_RENAMED if is_dated else Status.«UNCONFIRMED → SUBSCRIBED»
    test_a_renamed_mailchimp_file_is_not_consent
the name of a Mailchimp file gives the status of its readers
    _product_of: silence=«_MAILCHIMP_FILES[prefix[1].lower()] → Status.SUBSCRIBED»
    test_all_readers_arrive_with_status_tags_and_date[mailchimp]
a Mailchimp reader who reported spam has complained
    _status_column: if «product.name == _MAILCHIMP and word.startswith("unsubreason") → False»:
    test_all_readers_arrive_with_status_tags_and_date[mailchimp]
an empty date of sign-up is not the year 1
    DateForm.read: if «is_no_date(cell) → False»:
    test_a_date_is_read_if_it_has_one_meaning
a date of sign-up with two readings is left out
    DateForm.read: if «len(found) > 1 → False»:
    test_day_and_month_are_read_alike_in_all_rows
a column with numbers of other kinds has no dates of Excel
    FormOfColumn.see: self._numbers.add(«kind if EARLIEST <= at <= self._latest else "" → kind»)
    test_a_column_proves_its_form
dates before 1990 and in the future are no dates of sign-up
    DateForm._in_range: return at if «EARLIEST <= at <= self.latest → True»
    test_a_date_is_read_if_it_has_one_meaning
a lost date is counted
    ReaderFile._others_in: «self.lost.add(_column_name(layout, at), found, line, cell.strip())»
    test_lost_dates_are_counted_with_examples
a column keeps its use when another gets the same on the page
    _mapping_of: «mapping.setdefault(f"column {number}", read_as)»
    test_columns_with_the_same_use_are_joined
a reader unconfirmed in the file is asked, whatever is stated
    ADD: %(confirmed)s «AND status IS DISTINCT FROM 'unconfirmed'»
    test_only_unconfirmed_readers_are_asked
an unstated subscription is confirmed by the second statement alone
    ADD: «AND (status IS DISTINCT FROM 'unstated' OR %(list_is_confirmed)s)»
    test_without_the_statement_about_the_list_readers_are_asked
a reader unsubscribed in the file is not added
    SKIP_GONE: AND «candidate.has_left → false» RETURNING
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
a row that says unsubscribed counts in an import of an earlier release
    REMOVE_DUPLICATES: excluded.has_left AND («NOT seen.has_left OR» seen.line = excluded.line)
    test_no_piece_mails_a_reader_who_is_gone_further_down
who is gone further down is not mailed for an earlier row
    _run: «_note_gone(lease, record, file) → pass»
    test_no_piece_mails_a_reader_who_is_gone_further_down
a dry run notes who is gone further down
    _dry_run: «note_gone(record, some, file.fields) → pass»
    test_an_unsubscribed_row_counts_anywhere_in_the_file
within a piece the unsubscribed rows go first
    REMOVE_DUPLICATES: ORDER BY email_key, «has_left DESC NULLS LAST,» line
    test_an_unsubscribed_row_counts_anywhere_in_the_file
a confirmation here counts more than another product's file
    SKIP_GONE: coalesce(«subscriber.state = 'confirmed' → false»
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
a check adds no tags
    _insert_candidates: if names «and record.state != State.CHECKING»
    test_a_dry_run_adds_no_tags
a file cannot fill the table of tags
    _count_tags: if «len(names) + sum(name.lower() not in names for name in tags) > MOST_TAGS →
        False»
    test_too_many_different_tags_reject_their_rows
a status column is not read as a field
    layout_of: kept = kept.union(others[SINCE], «rule.columns if rule else ()»)
    test_a_status_column_is_no_field
later changes of fields do not change how a stored file is read
    ReaderFile._detect_layout: «self.mapping = self._with_found_fields(layout)»
    test_a_field_defined_later_changes_no_running_import
values of a deleted field are not imported
    _insert_candidates: for at, name in own «if name in kept»
    test_a_field_deleted_meanwhile_gets_no_values
a welcomed reader's next request is another one
    ADD: CASE WHEN confirms «AND NOT %(welcome)s → AND %(welcome)s IS NOT NULL» THEN 0 ELSE 1 END
    test_added_confirmed_readers_get_it_if_chosen
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
rejected rows are not read like one of several files that differ
    find_reading: if «len(choice) == 1 → choice»:
    test_the_name_decides_between_files_alike
only the import that rejected the lines says how they are read
    find_reading: if «rejected.count() == len(lines) → True» and
    test_nobody_is_confirmed_by_rows_of_an_unknown_file
another mapping is another import
    ReaderFile.import_hash: if «not self.mapping and status is None and before is None → True»:
    test_another_mapping_is_a_new_import

# --- Bounds ---
a file is processed in pieces
    _run: list(«islice(rows, CHUNK) → rows»)
    test_a_stopping_worker_releases_the_import_after_a_chunk
a line is skipped in pieces, however long it is
    lines_of: line = take(«_CUT → -1»)
    test_a_line_of_20_mb_is_read_in_constant_memory
a too long line is no row
    _fault: if «len(line) > LONGEST_LINE → False»: return
    test_line_numbers_stay_right_around_the_longest_line
an unclosed quotation ends after some lines
    _quoted.wanted: while «len(row) < MAX_LINES_IN_A_ROW → True»:
    test_a_long_remark_in_quotation_marks_ends_after_40_lines
a too large upload is cut off
    BoundedUpload.receive_data_chunk: if «self._left < 0 → False»:
    test_an_upload_stops_at_the_size_limit
a too large file is refused before it is stored
    _get_or_create: if «file.size > stored_file.largest_size() → False»:
    test_a_too_large_file_is_refused_before_storing

# --- Reports and permissions ---
no spreadsheet runs the content of a rejected row
    csv_line: «f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else»
        value
    test_rejected_addresses_are_safe_in_spreadsheets
    test_rejected_rows_are_paged_and_downloadable
the file of rejected rows gets its name only after a successful import
    atomic_binary_file: «yield output → try:¶    yield output¶finally:¶    unfinished.replace(file)»
    test_a_failed_import_keeps_the_earlier_rejects_file
the file of rejected rows never replaces a device
    atomic_file: if «file.exists() and not file.is_file() → False»:
    test_a_folder_or_pipe_named_as_rejects_prevents_the_import
a form from another site uploads nothing
    takes_upload: checked = «csrf_protect(view) → view»
    test_an_upload_is_refused_without_its_token
    test_every_form_needs_its_csrf_token
users without permission for readers cannot upload
    imports: «@may_manage_readers» @require_http_methods(["GET", "HEAD", "POST"])
    test_each_page_is_open_only_to_its_groups[readers:imports]
users without permission for readers cannot see an import
    show_import: «@may_manage_readers» @require_safe def show_import(
    test_each_page_is_open_only_to_its_groups[readers:import]
users without permission for readers cannot download rejected rows
    rejects_csv: «@may_manage_readers» @require_safe def rejects_csv(
    test_each_page_is_open_only_to_its_groups[readers:rejects]
users without permission for readers cannot import
    decide_import: «@may_manage_readers» @require_POST def decide_import(
    test_each_page_is_open_only_to_its_groups[readers:decide]
users without permission for readers cannot discard a file
    discard_import: «@may_manage_readers» @require_POST def discard_import(
    test_each_page_is_open_only_to_its_groups[readers:discard]
the admin's log has the user who imported
    decide_import: «record_import_activity("import", user_id_of(request), started,
        added=record.added) → pass»
    test_pressing_import_twice_imports_once_and_keeps_the_first_choice

# --- Unused files ---
only a checked, unimported file expires
    expire_uploads:_expired: filter(«state=State.CHECKED,» checked_at__lt
    test_imports_in_other_states_do_not_expire
no file expires before its time
    expire_uploads:_expired: Now() «- → +» timedelta
    test_after_seven_days_the_content_is_deleted
the content of an expired file is deleted
    expire_file: «stored_file.delete(record.pk)»
    test_after_seven_days_the_content_is_deleted
the rejected rows of an expired file are deleted
    expire_file: «delete_noted_rows(record.pk)»
    test_after_seven_days_the_content_is_deleted
a repeated upload restarts the time
    store_for_check: if «record.state == State.CHECKED → False»: SubscriberImport
    test_expiry_counts_from_the_last_check_or_upload
an expired file can be uploaded again
    existing_imports: SubscriberImport.objects.«exclude(state__in=WITHOUT_CONTENT) → all()»
    test_an_expired_file_can_be_uploaded_as_a_new_import
the database itself holds: a checked import says since when
    sql: ALTER TABLE subscriber_import DROP CONSTRAINT a_checked_import_says_since_when
    test_an_import_that_contradicts_itself_is_refused
the database itself holds: an expired import brought nobody
    sql: ALTER TABLE subscriber_import DROP CONSTRAINT an_expired_import_brought_nobody
    test_an_import_that_contradicts_itself_is_refused
""")
