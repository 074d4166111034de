"""Guards of imports: one at a time, each row once, nobody brought back, and bounded memory."""

from __future__ import annotations

from tests.guards.guard import Change, Guard, constraint, guard

APPLYING = "subscribers/importing/applying.py"
CONTENT = "subscribers/importing/content.py"
EXPIRING = "subscribers/importing/expiring_files.py"
HOLDING = "subscribers/importing/holding.py"
LINES = "subscribers/importing/lines.py"
READING = "subscribers/importing/reading.py"
RECEIVING = "subscribers/importing/receiving.py"
RECORDS = "subscribers/importing/records.py"
REJECTS = "subscribers/importing/rejects_file.py"
RUNNING = "subscribers/importing/running.py"
UPLOAD = "subscribers/bounded_upload.py"
VIEWS = "subscribers/views/imports.py"
MIGRATION = "migrations/subscribers/0006_files_that_nobody_imported_expire.py"

TROUBLE = "tests/subscribers/test_imports_that_meet_trouble.py::"
PROCESSES = "tests/subscribers/test_imports_in_processes.py::"
IMPORTS = "tests/subscribers/test_importing_readers.py::"
DESK = "tests/subscribers/test_imports_on_the_desk.py::"
AGAIN = "tests/subscribers/test_the_same_file_again.py::"
ERASED = "tests/subscribers/test_imports_and_who_was_erased.py::"
DIALECTS = "tests/subscribers/test_lists_in_every_dialect.py::"
FILES = "tests/subscribers/test_real_files.py::"
REJECTED = "tests/subscribers/test_the_rejects_file.py::"
EXPIRED = "tests/subscribers/test_files_that_nobody_imported.py::"
ROWS = "tests/subscribers/test_rows_that_cannot_lie.py::"

WITHOUT = "    with transaction.atomic(), connection.cursor() as cursor:\n"
BEGIN = f"{WITHOUT}        guard(cursor, hold)\n"
END = '    """Nothing is left to do: what was kept for going on goes."""\n'


def _open_to_all(name: str, decorator: str, view: str) -> Guard:
    return guard(
        f"who may not manage readers cannot {name}",
        VIEWS,
        f"@may_manage_readers\n{decorator}\ndef {view}(",
        f"{decorator}\ndef {view}(",
        f"{DESK}test_it_is_for_those_who_may_manage_readers",
    )


GUARDS = [
    # --- One process at a time --------------------------------------------------------------
    guard(
        "nobody takes an import while its lease lasts",
        HOLDING,
        "AND (lease_until IS NULL OR lease_until < clock_timestamp())",
        "",
        f"{TROUBLE}test_nobody_else_takes_an_import_while_its_lease_lasts",
    ),
    # Owner and epoch say the same of processes that draw an owner for every hold.
    guard(
        "whoever lost their hold to another writes nothing more",
        HOLDING,
        "AND owner = %s AND epoch = %s AND state = %s",
        "AND %s IS NOT NULL AND %s IS NOT NULL AND state = %s",
        f"{TROUBLE}test_whoever_lost_their_hold_to_another_writes_nothing_more",
    ),
    guard(
        "each time an import is taken up counts",
        HOLDING,
        "epoch = epoch + 1, setbacks",
        "epoch = epoch, setbacks",
        f"{TROUBLE}test_two_workers_on_one_import_do_the_work_once",
    ),
    guard(
        "whoever let their lease run out writes nothing",
        HOLDING,
        "           AND lease_until >= clock_timestamp()\n",
        "",
        f"{TROUBLE}test_whoever_lets_the_lease_run_out_writes_nothing_even_if_nobody_took_it",
    ),
    guard(
        "every piece begins with the guard of the hold",
        RUNNING,
        "        guard(cursor, hold)\n        cursor.execute(TAKE_TURN)\n",
        "        cursor.execute(TAKE_TURN)\n",
        f"{TROUBLE}test_whoever_loses_their_hold_between_two_pieces_writes_no_more",
    ),
    guard(
        "only who holds an import ends it",
        RUNNING,
        f"{END}{BEGIN}",
        f"{END}{WITHOUT}",
        f"{TROUBLE}test_whoever_loses_their_hold_between_two_pieces_writes_no_more",
    ),
    guard(
        "a process that freezes in the middle of a piece does not keep everybody out",
        HOLDING,
        "set_config('idle_in_transaction_session_timeout', %s, true)",
        "set_config('application_name', %s, true)",
        f"{TROUBLE}"
        "test_the_server_ends_a_piece_in_whose_middle_a_process_freezes_when_its_lease_ends",
    ),
    guard(
        "imports take turns by the piece",
        RUNNING,
        "        cursor.execute(TAKE_TURN)\n",
        "",
        f"{TROUBLE}test_a_piece_waits_for_its_turn",
    ),
    guard(
        "what never comes further is refused and not begun for ever",
        RUNNING,
        "            if hold.setbacks > MOST_SETBACKS:\n",
        "            if False:\n",
        f"{TROUBLE}"
        "test_an_import_that_is_taken_up_again_and_again_without_coming_further_is_refused",
    ),
    # --- Each row once ----------------------------------------------------------------------
    guard(
        "the checkpoint is in the transaction of its piece",
        RUNNING,
        "        now, left_out = apply(terms, judged)\n",
        "        now, left_out = apply(terms, judged)\n"
        '        cursor.execute("COMMIT")\n'
        '        cursor.execute("BEGIN")\n',
        f"{PROCESSES}test_killed_between_its_readers_and_its_checkpoint_a_piece_leaves_nothing",
    ),
    guard(
        "whoever goes on leaves out what was taken",
        RUNNING,
        "        _leave_out(rows, record.rows, hold)\n",
        "",
        f"{TROUBLE}test_a_worker_that_is_stopped_gives_the_import_back_after_its_piece",
    ),
    guard(
        "of two lists in one upload neither is taken",
        VIEWS,
        "    if len(files) > 1:\n        return _history(",
        "    if False:\n        return _history(",
        f"{DESK}test_of_two_files_in_one_upload_neither_is_taken",
    ),
    guard(
        "an import begins without what its check had noted",
        RUNNING,
        "    if record.rows == 0:\n        _begin(hold)\n",
        "",
        f"{DESK}test_what_was_checked_is_imported_as_the_check_said_and_each_is_asked_to_confirm",
    ),
    guard(
        "an address that stood further up is taken once, across pieces too",
        APPLYING,
        "WHERE line NOT IN (SELECT line FROM first_time)",
        "WHERE false",
        f"{IMPORTS}test_duplicates_are_found_across_chunks",
    ),
    guard(
        "what is not the content that was announced is not kept",
        CONTENT,
        "    if digest.digest() != content_hash:\n",
        "    if False:\n",
        f"{TROUBLE}test_a_file_that_changes_before_it_is_kept_is_refused_and_nothing_is_kept",
    ),
    guard(
        "what was lost of the content on the way is noticed",
        RUNNING,
        "        if file.content_hash != bytes(record.content_hash):\n",
        "        if False:\n",
        f"{TROUBLE}test_bytes_that_were_lost_on_the_way_are_noticed",
    ),
    guard(
        "a file that changes during a dry run is noticed",
        READING,
        "        if watched.digest() != self.content_hash:\n",
        "        if False:\n",
        f"{FILES}test_a_dry_run_of_a_file_that_changes_while_it_is_read_says_so",
    ),
    # --- The same content again -------------------------------------------------------------
    Guard(
        "the database itself holds: one import per content",
        (
            Change(MIGRATION, 'name="one_import_per_content"', 'name="one_import_per_content"'),
            Change(
                MIGRATION,
                "",
                "\nMigration.operations.append("
                'migrations.RunSQL("DROP INDEX one_import_per_content"))\n',
            ),
        ),
        (f"{ROWS}test_a_content_is_imported_once",),
    ),
    guard(
        "the same content again leads to the first import",
        "subscribers/importing/import_file.py",
        "brought_before().filter(content_hash=file.content_hash).first()",
        "brought_before().filter(content_hash=file.content_hash, filename=path.name).first()",
        f"{AGAIN}test_the_same_content_creates_nothing_and_gives_the_numbers_of_the_first_time",
    ),
    guard(
        "what is imported is not begun again",
        RECEIVING,
        "filter(pk=import_id, state__in=among).update(",
        "filter(pk=import_id).update(",
        f"{DESK}test_pressing_import_twice_imports_once_and_keeps_the_first_choice",
    ),
    guard(
        "what was imported cannot be dropped",
        RECEIVING,
        "            pk=import_id, state__in=NOT_IMPORTED\n",
        "            pk=import_id\n",
        f"{DESK}test_what_was_imported_cannot_be_dropped",
    ),
    # --- Whom an import brings --------------------------------------------------------------
    guard(
        "an import brings nobody back who left, bounced or complained",
        APPLYING,
        "AND (subscriber.state IN ('unsubscribed', 'bounced', 'complained')\n            OR ",
        "AND (",
        f"{IMPORTS}test_nobody_who_left_bounced_or_complained_is_brought_back",
    ),
    guard(
        "an import brings nobody whose address is suppressed",
        APPLYING,
        "\n            OR suppression.id IS NOT NULL)",
        ")",
        f"{IMPORTS}test_a_suppressed_address_is_skipped_known_or_not",
    ),
    guard(
        "a suppression that was lifted keeps nobody out",
        APPLYING,
        "\n                           AND suppression.lifted_at IS NULL",
        "",
        f"{IMPORTS}test_a_suppression_that_was_lifted_keeps_nobody_out",
    ),
    guard(
        "an import brings nobody back who was erased",
        APPLYING,
        "        cursor.execute(TAKE_OUT_WHO_WAS_ERASED, [list(erased)])\n",
        "        pass\n",
        f"{ERASED}test_they_are_left_out_with_a_reason_and_the_others_go_in",
    ),
    guard(
        "an import writes nothing down of who was erased",
        APPLYING,
        "RETURNING line, '', 'erased'",
        "RETURNING line, email, 'erased'",
        f"{ERASED}test_they_are_left_out_with_a_reason_and_the_others_go_in",
    ),
    guard(
        "an import changes nobody who is known",
        APPLYING,
        "ON CONFLICT (email_key) DO NOTHING\n        RETURNING id, email",
        "ON CONFLICT (email_key) DO UPDATE SET name = excluded.name\n        RETURNING id, email",
        f"{IMPORTS}test_a_known_reader_is_counted_and_left_as_they_were",
    ),
    guard(
        "a check adds nobody",
        APPLYING,
        "    if terms.is_check:\n",
        "    if False:\n",
        f"{DESK}test_an_upload_is_checked_and_shows_what_would_happen_and_nothing_has",
    ),
    guard(
        "whom nobody answers for is asked to confirm",
        APPLYING,
        "    if not terms.confirmed:\n",
        "    if False:\n",
        f"{DESK}test_what_was_checked_is_imported_as_the_check_said_and_each_is_asked_to_confirm",
    ),
    guard(
        "consent given elsewhere is stated, not clicked past",
        VIEWS,
        "    if not states_it:\n",
        "    if False:\n",
        f"{DESK}test_consent_given_elsewhere_needs_the_statement_and_where_and_how",
    ),
    guard(
        "consent given elsewhere says where and how",
        VIEWS,
        "    if not where:\n",
        "    if False:\n",
        f"{DESK}test_consent_given_elsewhere_needs_the_statement_and_where_and_how",
    ),
    # --- Bounds -----------------------------------------------------------------------------
    guard(
        "a file goes in by pieces",
        RUNNING,
        "list(islice(rows, PIECE))",
        "list(rows)",
        f"{TROUBLE}test_a_worker_that_is_stopped_gives_the_import_back_after_its_piece",
    ),
    guard(
        "a line is read past in pieces, however long it is",
        LINES,
        "        line = take(_CUT)\n",
        "        line = take(-1)\n",
        f"{DIALECTS}test_a_line_of_20_mb_takes_no_more_memory_than_others",
    ),
    guard(
        "a line that is too long is no row",
        RECORDS,
        "    if len(line) > LONGEST_LINE:\n",
        "    if False:\n",
        f"{DIALECTS}test_line_numbers_stay_right_around_the_longest_line",
    ),
    guard(
        "a quotation that is never closed ends after some lines",
        RECORDS,
        "        while len(row) < MOST_LINES_IN_A_ROW:\n",
        "        while True:\n",
        f"{FILES}test_a_long_remark_in_quotation_marks_ends_after_40_lines",
    ),
    guard(
        "an upload is cut off where it becomes too large",
        UPLOAD,
        "        if self._left < 0:\n",
        "        if False:\n",
        f"{DESK}test_an_upload_is_cut_off_where_it_becomes_too_large",
    ),
    guard(
        "a file that is too large is refused before it is kept",
        CONTENT,
        "    if size > most_bytes():\n",
        "    if False:\n",
        f"{TROUBLE}test_a_file_larger_than_the_site_takes_is_refused_before_anything_is_kept",
    ),
    # --- Reports and people -----------------------------------------------------------------
    guard(
        "no spreadsheet runs what stands in a rejected row",
        "subscribers/csv_line.py",
        'return f"\'{value}" if is_formula else value',
        "return value",
        f"{REJECTED}test_a_spreadsheet_does_not_run_what_somebody_typed_as_an_address",
        f"{DESK}test_the_rejected_rows_are_shown_fifty_at_a_time_and_download_as_a_file",
    ),
    guard(
        "rejected rows take their name only when the import succeeded",
        REJECTS,
        "        if kind is None:\n",
        "        if True:\n",
        f"{REJECTED}test_an_import_that_fails_leaves_what_was_there_and_nothing_beside_it",
    ),
    guard(
        "rejected rows take the place of no device",
        "subscribers/file_to_write.py",
        "if file.exists() and not file.is_file():",
        "if False:",
        f"{REJECTED}"
        "test_where_something_else_has_its_name_nothing_is_imported_and_nothing_replaced",
    ),
    guard(
        "a form from elsewhere uploads nothing",
        VIEWS,
        "@csrf_protect\n",
        "",
        f"{DESK}test_a_form_from_elsewhere_is_refused",
    ),
    guard(
        "who may not manage readers cannot upload",
        VIEWS,
        '@may_manage_readers\n@require_http_methods(["GET", "HEAD", "POST"])\n',
        '@require_http_methods(["GET", "HEAD", "POST"])\n',
        f"{DESK}test_it_is_for_those_who_may_manage_readers",
    ),
    _open_to_all("see an import", "@require_safe", "show_import"),
    _open_to_all("see how far an import is", "@require_safe", "import_json"),
    _open_to_all("download rejected rows", "@require_safe", "rejects_csv"),
    _open_to_all("import", "@require_POST", "decide_import"),
    _open_to_all("drop a file", "@require_POST", "drop_import"),
    guard(
        "who imported what is in the log of the admin",
        VIEWS,
        "            audit_trail.record_import(operator_of(request), _named(import_id))\n",
        "            pass\n",
        f"{DESK}test_who_did_what_is_in_the_log_of_the_admin",
    ),
    # --- Files that nobody imports ----------------------------------------------------------
    guard(
        "only what was checked and not imported expires",
        EXPIRING,
        "\"state = 'checked' AND checked_at",
        "\"state <> 'expired' AND checked_at",
        f"{EXPIRED}test_nothing_else_expires",
    ),
    guard(
        "nothing expires before its time",
        EXPIRING,
        "checked_at < now() - make_interval(days => %s)",
        "checked_at < now() + make_interval(days => %s)",
        f"{EXPIRED}test_after_seven_days_its_content_goes_and_the_history_says_what_became_of_it",
    ),
    guard(
        "the content of what expires goes",
        EXPIRING,
        "        DELETE FROM import_piece USING expired WHERE subscriber_import_id = expired.id\n",
        "        SELECT\n",
        f"{EXPIRED}test_after_seven_days_its_content_goes_and_the_history_says_what_became_of_it",
    ),
    guard(
        "the rejected rows of what expires go",
        EXPIRING,
        "        DELETE FROM left_out_row USING expired WHERE subscriber_import_id = expired.id\n",
        "        SELECT\n",
        f"{EXPIRED}test_after_seven_days_its_content_goes_and_the_history_says_what_became_of_it",
    ),
    guard(
        "whoever brings a file again has its whole time again",
        RECEIVING,
        "        if record.state == State.CHECKED:\n",
        "        if False:\n",
        f"{EXPIRED}test_the_time_counts_from_the_check_and_from_the_last_time_it_was_brought",
    ),
    guard(
        "what expired is brought anew",
        RECEIVING,
        "SubscriberImport.objects.exclude(state=State.EXPIRED)",
        "SubscriberImport.objects.all()",
        f"{EXPIRED}test_the_same_file_then_begins_anew_and_the_old_line_stays",
    ),
    constraint(
        "a_checked_import_says_since_when",
        "subscriber_import",
        "subscribers/0006_files_that_nobody_imported_expire",
        f"{EXPIRED}test_an_import_that_contradicts_itself_is_refused",
    ),
    constraint(
        "an_expired_import_brought_nobody",
        "subscriber_import",
        "subscribers/0006_files_that_nobody_imported_expire",
        f"{EXPIRED}test_an_import_that_contradicts_itself_is_refused",
    ),
]
