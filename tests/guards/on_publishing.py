"""Guards of publishing and of posted forms: once for each key, once for each version."""

from __future__ import annotations

from tests.guards.guard import guard

PUBLISH = "publishing/publish.py"
VERSIONS = "publishing/versions.py"
DRAFT = "publishing/publishing_a_draft.py"
CLAIM = "idempotency/claim.py"
POSTED = "idempotency/once.py"
ANSWERS = "idempotency/saved_answers.py"
EXPIRY = "idempotency/expiry.py"

SAME_PLACE = "            same_place\n            and edition.goes_to == self.goes_to\n"

CORRECTIONS = "tests/publishing/test_corrections.py::"
TWICE = "tests/publishing/test_publishing_twice.py::"
DRAFTS = "tests/publishing/test_publishing_a_draft.py::"
SAME = "tests/idempotency/test_posting_the_same_form_twice.py::"
RACING = "tests/idempotency/test_posts_that_race.py::"
DYING = "tests/idempotency/test_a_web_process_that_dies.py::"
BREAKS_OFF = "tests/publishing/test_a_body_that_breaks_off.py::"

ACTIONS = "tests/publishing/test_what_may_be_done_to_an_edition.py::"

GUARDS = [
    guard(
        "a subject has one line, by Unicode's own breaks too",
        "publishing/content.py",
        r"\x7f-\x9f\u2028\u2029]",
        r"\x7f]",
        r"tests/publishing/test_a_title_has_one_line.py::"
        r"test_a_title_of_more_than_a_line_is_refused[\u2028]",
    ),
    # --- Actions ----------------------------------------------------------------------------------
    guard(
        "what a person did and its line in the audit trail are one transaction",
        "publishing/actions.py",
        "    with together():\n",
        "    if True:\n",
        f"{ACTIONS}test_what_is_done_and_its_line_in_the_audit_trail_are_one_transaction[pause]",
    ),
    guard(
        "what a person did is committed when they are told so",
        "delivery/queue/short_transaction.py",
        "    with transaction.atomic(durable=is_outermost):\n",
        "    with transaction.atomic():\n",
        f"{ACTIONS}test_what_a_person_does_is_done_when_they_are_told_so_and_not_with_a_later_commit",
    ),
    guard(
        "only what is done together joins a transaction",
        "delivery/queue/short_transaction.py",
        "            _is_joined.reset(was)\n",
        "            str(was)\n",
        f"{ACTIONS}test_only_what_is_done_together_joins_a_transaction",
    ),
    # --- Drafts -----------------------------------------------------------------------------------
    guard(
        "a draft is published once, whoever presses",
        DRAFT,
        "    if held.edition is not None:\n",
        "    if False:\n",
        f"{DRAFTS}test_two_people_who_press_at_once_publish_once_and_the_second_is_told_by_whom",
    ),
    guard(
        "a body that breaks off is not taken for a shorter one",
        "newsletter_site/whole_bodies.py",
        "        if len(came) < wanted:\n",
        "        if False:\n",
        f"{BREAKS_OFF}test_half_a_letter_is_never_published[application/x-www-form-urlencoded]",
        f"{BREAKS_OFF}test_a_call_that_breaks_off_is_refused_and_made_under_the_same_key",
        "tests/subscribers/api/test_an_upload_that_is_cut_off.py::"
        "test_half_a_file_is_refused_and_the_whole_is_taken_under_the_same_key",
    ),
    guard(
        "a form that broke off is not taken for an empty one",
        "newsletter_site/refused_forms.py",
        "            return bad_request(request, fault)\n",
        "            return None\n",
        f"{BREAKS_OFF}test_half_a_letter_is_never_published[application/x-www-form-urlencoded]",
    ),
    guard(
        "nobody saves a draft while it becomes an edition",
        DRAFT,
        'Draft.objects.select_for_update(of=("self",)).filter(pk=draft)',
        "Draft.objects.filter(pk=draft)",
        f"{DRAFTS}test_words_that_change_between_the_look_and_the_claim_are_not_published",
    ),
    guard(
        "the words are published that somebody saw",
        DRAFT,
        "    if (held.revision, content.sha256) != (agreed.revision, agreed.content_hash):\n",
        "    if False:\n",
        f"{DRAFTS}test_words_that_change_between_the_look_and_the_claim_are_not_published",
    ),
    # --- Publishing -------------------------------------------------------------------------------
    guard(
        "a key stands for what it was first used for",
        PUBLISH,
        "    if not asked.is_answered_by(edition):\n",
        "    if False:\n",
        f"{CORRECTIONS}test_a_key_stands_for_its_words_its_version_and_its_readers",
    ),
    guard(
        "a key stands for its words",
        PUBLISH,
        "            and has_words(edition, self.content)\n",
        "",
        f"{CORRECTIONS}test_a_key_stands_for_its_words_its_version_and_its_readers",
    ),
    guard(
        "a key stands for its readers",
        PUBLISH,
        SAME_PLACE,
        "            same_place\n",
        f"{CORRECTIONS}test_a_key_stands_for_its_words_its_version_and_its_readers",
    ),
    guard(
        "a key stands for its version",
        PUBLISH,
        SAME_PLACE,
        "            edition.goes_to == self.goes_to\n",
        f"{CORRECTIONS}test_the_key_of_a_correction_is_no_key_for_a_new_issue_and_the_other_way_"
        "round",
        f"{CORRECTIONS}test_a_key_stands_for_its_words_its_version_and_its_readers",
    ),
    guard(
        "a version that is there is not published again",
        PUBLISH,
        "return versions_of(asked.issue).filter(version=asked.version).defer(None).first()",
        "return None",
        f"{CORRECTIONS}test_a_version_that_exists_sends_nothing_and_returns_what_happened_the_"
        "first_time",
    ),
    guard(
        "only the next version is published",
        PUBLISH,
        "            if refusal:\n",
        "            if False:\n",
        f"{CORRECTIONS}test_a_version_that_is_neither_there_nor_the_next_is_refused_with_what_"
        "there_is",
    ),
    guard(
        "of two who publish one version at once the second finds the first's",
        PUBLISH,
        "                if _constraint(error) in (ONE_PER_KEY, ONE_PER_VERSION):\n",
        "                if False:\n",
        f"{CORRECTIONS}test_whoever_comes_while_another_publishes_that_version_waits_and_gets_"
        "theirs",
    ),
    guard(
        "publishing is there whole or not at all",
        PUBLISH,
        "                with transaction.atomic():\n                    edition = _publish_new(",
        "                with __import__('contextlib').nullcontext():\n"
        "                    edition = _publish_new(",
        f"{CORRECTIONS}test_whoever_comes_while_another_publishes_that_version_waits_and_gets_"
        "theirs",
    ),
    guard(
        "a correction goes only to whoever is confirmed now",
        VERSIONS,
        "    return confirmed().filter(\n",
        "    from subscribers.models import Subscriber\n    return Subscriber.objects.values_list("
        '"id", "email", "name").filter(\n',
        f"{CORRECTIONS}test_who_was_reached_and_has_left_since_gets_no_correction",
    ),
    guard(
        "a correction for the reached goes only to whom an earlier copy was sent",
        VERSIONS,
        "                outcome=Outcome.SENT,\n",
        "",
        f"{CORRECTIONS}test_a_correction_for_the_reached_goes_only_to_those_whose_earlier_copy_was_"
        "sent",
    ),
    guard(
        "an audience is whoever is confirmed and may be mailed",
        "subscribers/audience.py",
        "state=Subscriber.State.CONFIRMED",
        "state__isnull=False",
        "tests/subscribers/test_the_audience_of_an_issue.py::test_nobody_else_is",
    ),
    # --- Posted forms -----------------------------------------------------------------------------
    guard(
        "of many posts of one form one does the work",
        CLAIM,
        "    if inserted:\n        return Fresh()\n",
        "    if inserted or True:\n        return Fresh()\n",
        f"{RACING}test_of_20_posts_at_once_one_does_the_work_and_all_get_its_answer",
    ),
    guard(
        "a post waits for the one before it",
        CLAIM,
        '" VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",',
        '" VALUES (%s, %s, %s)",',
        f"{RACING}test_three_wait_for_the_first_and_the_rest_get_409_at_once",
    ),
    guard(
        "at one key only a few wait",
        CLAIM,
        "    if not seated:\n",
        "    if False:\n",
        f"{RACING}test_three_wait_for_the_first_and_the_rest_get_409_at_once",
    ),
    guard(
        "a post waits no longer than allowed",
        CLAIM,
        '    _set_statement_timeout(f"{max(1, math.ceil(wait_s * 1000))}ms")\n',
        "",
        f"{RACING}test_posts_that_fail_one_after_the_other_do_not_make_the_wait_longer",
    ),
    guard(
        "the wait does not bound the work",
        CLAIM,
        "    _set_statement_timeout(timeout_before)\n",
        "",
        f"{SAME}test_the_wait_does_not_bound_the_work",
    ),
    guard(
        "a key that was used for another form is not answered with that form's answer",
        CLAIM,
        "    if saved.fingerprint in fingerprints:\n",
        "    if True:\n",
        f"{SAME}test_other_content_under_the_same_key_gets_422_and_changes_nothing",
    ),
    guard(
        "a claim is made under READ COMMITTED and no other level",
        CLAIM,
        '    if isolation != "read committed":\n',
        "    if False:\n",
        "tests/idempotency/test_isolation_is_read_committed.py::"
        "test_the_claim_refuses_a_connection_with_a_stricter_level",
    ),
    guard(
        "a process that falls silent with a claim is cut off",
        CLAIM,
        "\" set_config('idle_in_transaction_session_timeout', %s, true),\"",
        '" %s::text,"',
        f"{DYING}test_frozen_while_it_holds_the_claim_it_is_cut_off_and_its_work_undone",
    ),
    guard(
        "a process that died in a statement frees its key",
        CLAIM,
        "\" set_config('client_connection_check_interval', %s, true),\"",
        '" %s::text,"',
        f"{DYING}test_killed_in_the_middle_of_a_statement_it_frees_the_key",
    ),
    guard(
        "work and its answer are one transaction of their own",
        POSTED,
        "        with transaction.atomic(durable=True):\n",
        "        with transaction.atomic():\n",
        f"{SAME}test_it_refuses_to_work_inside_another_transaction",
    ),
    guard(
        "work that was no success is undone and forgotten",
        POSTED,
        "                transaction.set_rollback(True)\n                return done\n",
        "                return done\n",
        f"{SAME}test_an_answer_that_is_no_success_is_passed_on_and_forgotten",
    ),
    guard(
        "an answer with a token of one browser is not remembered",
        POSTED,
        "            if token_was_used:\n",
        "            if False:\n",
        f"{SAME}test_an_answer_with_a_csrf_token_is_refused_and_nothing_is_done",
    ),
    guard(
        "an answer is saved once, in the row that was claimed",
        ANSWERS,
        "        if cursor.rowcount != 1:\n",
        "        if False:\n",
        f"{SAME}test_work_that_takes_its_own_claim_away_is_refused",
    ),
    guard(
        "an answer that was saved is not overwritten",
        ANSWERS,
        "AND idempotency_key = %s AND response_status_code IS NULL",
        "AND idempotency_key = %s",
        f"{SAME}test_work_that_answers_its_own_claim_is_refused",
    ),
    guard(
        "a claim without an answer is not taken for an answer",
        ANSWERS,
        "    if status is None:\n",
        "    if False:\n",
        f"{SAME}test_a_committed_claim_without_an_answer_is_named_and_not_taken_for_one",
    ),
    guard(
        "keys belong to their user",
        ANSWERS,
        "FROM idempotency WHERE user_id = %s AND idempotency_key = %s",
        "FROM idempotency WHERE (user_id = %s OR true) AND idempotency_key = %s",
        f"{SAME}test_keys_belong_to_their_user",
    ),
    guard(
        "answers are forgotten only when they are old",
        EXPIRY,
        '_IS_OLD = "created_at < statement_timestamp() - make_interval(days => %s)"',
        '_IS_OLD = "created_at < statement_timestamp() - 0 * make_interval(days => %s)"',
        "tests/idempotency/test_expiry.py::test_rows_older_than_the_days_allowed_are_forgotten",
    ),
    guard(
        "a row that another run is deleting is left to it",
        EXPIRY,
        " FOR UPDATE SKIP LOCKED)",
        " FOR UPDATE NOWAIT)",
        "tests/idempotency/test_expiry.py::test_a_row_that_another_run_is_deleting_is_left_to_it",
    ),
]
