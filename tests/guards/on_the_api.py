"""Guards of the API: tokens, calls that are made twice, and what every answer keeps to."""

from __future__ import annotations

from tests.guards.guard import guard

TOKENS = "tests/newsletter_site/test_tokens.py::"
PAGE = "tests/newsletter_site/test_the_page_of_tokens.py::"
CALLS = "tests/newsletter_site/test_every_call_of_the_api.py::"
PUBLISHING = "tests/publishing/api/test_publishing_by_a_program.py::"
READERS = "tests/subscribers/api/test_readers_by_a_program.py::"
IN_PIECES = "tests/publishing/api/test_a_body_that_comes_in_pieces.py::"
SAME_CALL = "tests/subscribers/api/test_what_makes_two_calls_the_same.py::"
IMPORTS = "tests/subscribers/api/test_imports_by_a_program.py::"

WHOSE = "newsletter_site/tokens/whose.py"
BEARER = "api/bearer.py"
BOUNDARY = "newsletter_site/api_boundary.py"
JSON = "api/json_body.py"
SAME = "api/same_call.py"

GUARDS = [
    guard(
        "a revoked token is not accepted",
        WHOSE,
        " AND revoked_at IS NULL",
        "",
        f"{TOKENS}test_a_revoked_token_is_not_accepted_any_more",
    ),
    guard(
        "an expired token is not accepted",
        WHOSE,
        " OR expires_at > clock_timestamp())",
        " OR true)",
        f"{TOKENS}test_an_expired_token_is_not_accepted_any_more",
    ),
    guard(
        "the tokens of who may not sign in any more are not accepted",
        WHOSE,
        "if person is None or not person.is_staff:",
        "if person is None:",
        f"{TOKENS}test_who_may_not_sign_in_any_more_has_lost_their_tokens_at_once[is_staff]",
    ),
    guard(
        "a token does what it was made for and nothing else",
        BEARER,
        "if scope.name not in caller.scopes:",
        "if False:",
        f"{TOKENS}test_a_token_does_what_it_was_made_for_and_nothing_else",
    ),
    guard(
        "a permission that was lost is lost for tokens too",
        BEARER,
        "if not scope.is_open_to(caller.person):",
        "if False:",
        f"{TOKENS}test_who_lost_a_permission_lost_it_for_their_tokens_at_once",
    ),
    guard(
        "what is no token costs no look into the database",
        WHOSE,
        "if not is_well_formed(token):",
        "if False:",
        f"{TOKENS}test_what_is_mistyped_costs_no_look_into_the_database",
    ),
    guard(
        "nobody makes a token for more than they may",
        "newsletter_site/tokens/keeping.py",
        "    if too_much:\n",
        "    if False:\n",
        f"{TOKENS}test_nobody_makes_a_token_for_more_than_they_may",
    ),
    guard(
        "the answer that shows a token is stored by nobody",
        "newsletter_site/tokens/page.py",
        'page.headers["Cache-Control"] = "no-store"',
        "pass",
        f"{PAGE}test_a_token_is_shown_in_the_answer_that_made_it_and_nowhere_else",
    ),
    guard(
        "no cookie of a call is read",
        BOUNDARY,
        '        request.META.pop("HTTP_COOKIE", None)\n',
        "",
        f"{CALLS}test_a_cookie_is_seen_by_nobody",
    ),
    guard(
        "a token that came in the clear is told so and not redirected",
        BOUNDARY,
        "if settings.SECURE_SSL_REDIRECT and not request.is_secure():",
        "if False:",
        f"{CALLS}test_plain_http_is_refused_and_never_redirected",
    ),
    guard(
        "no call is kept by anybody on the way",
        BOUNDARY,
        '        answer.headers["Cache-Control"] = "no-store"\n',
        "",
        f"{CALLS}test_the_document_is_openapi_3_1_and_anybody_may_read_it",
    ),
    guard(
        "what is wrong with a call claims nothing",
        "idempotency/once.py",
        "    refusal = not_ready()\n",
        "    refusal = None\n",
        f"{PUBLISHING}test_what_has_to_be_put_right_is_named_and_claims_nothing",
    ),
    guard(
        "a call with other content is another call",
        SAME,
        "    if body is None:\n",
        "    if True:\n",
        f"{PUBLISHING}test_other_content_under_the_key_is_refused_with_a_link_to_what_was_made",
    ),
    guard(
        "a release that adds a field takes calls from before for the same",
        SAME,
        ", exclude_defaults=True",
        "",
        f"{SAME_CALL}test_a_release_that_adds_a_field_takes_a_call_from_before_for_the_same",
        f"{SAME_CALL}test_a_field_at_its_default_and_one_left_out_are_the_same",
    ),
    guard(
        "what is kept of a call tells nobody what it was about",
        SAME,
        '    return keyed(fingerprint(request.method or "", request.path, content))\n',
        '    return [fingerprint(request.method or "", request.path, content)]\n',
        f"{SAME_CALL}test_nobody_without_the_secret_key_can_try_an_address_against_what_is_kept",
    ),
    guard(
        "a call from before a new secret key is known again",
        "idempotency/fingerprint.py",
        "        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)\n",
        "        for secret in (settings.SECRET_KEY,)\n",
        f"{SAME_CALL}test_a_call_is_known_again_under_a_new_secret_key_"
        "while_the_old_one_is_a_fallback",
    ),
    guard(
        "another file is another call",
        SAME,
        '        "files": files,\n',
        '        "files": [],\n',
        f"{IMPORTS}test_the_same_call_again_brings_nothing_more",
    ),
    guard(
        "an action through the API is one transaction with its saved answer",
        "publishing/api/issue_calls.py",
        "            with joining_the_callers():\n",
        "            if True:\n",
        f"{PUBLISHING}test_what_the_command_does_to_an_edition_a_program_does_once",
    ),
    guard(
        "a program adds nobody who is gone",
        "subscribers/adding.py",
        "    if there is not None and there.state in GONE:\n",
        "    if False:\n",
        f"{READERS}test_who_is_gone_is_skipped_and_it_is_said_why[unsubscribed]",
    ),
    guard(
        "a program adds nobody who was erased",
        "subscribers/adding.py",
        "if there is None and erased_among([key]) else",
        "if False else",
        f"{READERS}test_who_is_suppressed_or_was_erased_is_skipped",
    ),
    guard(
        "who was added by a program is not said to have signed up",
        "subscribers/adding.py",
        "Subscriber.Source.API",
        "Subscriber.Source.SIGN_UP",
        "tests/subscribers/api/test_who_came_by_a_program_is_said_to_have.py::"
        "test_a_reader_added_by_a_program_did_not_sign_up",
    ),
    guard(
        "what answers GET answers HEAD",
        BOUNDARY,
        '    if asked_by == "HEAD":\n',
        "    if False:\n",
        f"{CALLS}test_what_answers_get_answers_head_the_same_without_a_body",
    ),
    guard(
        "a NUL character in JSON is named and breaks nothing",
        JSON,
        '    if "\\0" in text:\n',
        "    if False:\n",
        f"{CALLS}test_a_body_that_cannot_be_taken_is_answered_with_one_sentence",
    ),
    guard(
        "a JSON that is nested without end is refused",
        JSON,
        "    if depth > DEEPEST:\n",
        "    if False:\n",
        f"{CALLS}test_a_body_that_cannot_be_taken_is_answered_with_one_sentence",
    ),
    guard(
        "what a program uploads is cut off where it becomes too large",
        "subscribers/api/import_calls.py",
        "                    if came > content.most_bytes():\n",
        "                    if False:\n",
        f"{IMPORTS}test_a_file_that_is_too_large_is_cut_off",
    ),
    guard(
        "a number of a query is written in digits",
        "api/shape.py",
        "if isinstance(given, str) and not (given.isascii() and given.isdecimal()):",
        "if False:",
        f"{CALLS}test_a_query_that_is_not_understood_is_refused_by_name",
    ),
    guard(
        "a text of a query has one line that a table can hold",
        JSON,
        "if any(_CONTROL.search(value) for value in values):",
        "if False:",
        f"{CALLS}test_a_text_of_a_query_has_one_line_that_can_be_printed",
    ),
    guard(
        "of two files that a program brings in one call none is taken",
        "subscribers/api/import_calls.py",
        "    if files > 1:\n",
        "    if False:\n",
        f"{IMPORTS}test_of_a_form_that_is_not_one_file_nothing_is_taken[beside0-there are 2]",
    ),
    guard(
        "the document of the API asks nobody for the token of a form",
        "newsletter_site/api_document.py",
        "@csrf_exempt\n",
        "",
        f"{CALLS}test_the_document_is_read_and_nothing_else",
    ),
    guard(
        "of a file of untold length no beginning is taken for the whole",
        BOUNDARY,
        "        if _has_untold_length(request):\n",
        "        if False:\n",
        "tests/subscribers/api/test_an_upload_that_is_cut_off.py::"
        "test_a_file_without_its_length_is_refused",
        f"{IN_PIECES}test_a_call_that_takes_no_body_is_not_done_where_one_comes_in_pieces",
    ),
    guard(
        "what a program does to an edition it does to the version that it names",
        "publishing/api/issue_calls.py",
        "    version: InDigits = THE_VERSION,\n",
        "    version: InDigits = WHICH_VERSION,\n",
        f"{PUBLISHING}test_what_is_done_to_an_edition_names_its_version[cancel]",
    ),
    guard(
        "a call that takes no body refuses one",
        "api/changing.py",
        '    if request.body.strip() not in (b"", b"{}"):\n',
        "    if False:\n",
        "tests/publishing/api/test_publishing_by_a_program.py::"
        "test_what_is_said_in_a_body_that_nobody_reads_is_refused",
    ),
    guard(
        "an action that there is not is told which there are",
        "newsletter_site/api.py",
        '    if error["type"] != "literal_error":\n',
        "    if True:\n",
        f"{CALLS}test_what_is_not_there_is_said_in_json",
    ),
    guard(
        "a call without its last slash is not redirected, and in debug no fault",
        "newsletter_site/api.py",
        "        address.callback.should_append_slash = False\n",
        "        pass\n",
        f"{CALLS}test_a_call_without_its_last_slash_is_told_of_it_and_never_redirected",
    ),
    guard(
        "a call without its last slash is told of it",
        BOUNDARY,
        'if kind == Kind.NOT_FOUND and not request.path_info.endswith("/"):',
        "if False:",
        f"{CALLS}test_a_call_without_its_last_slash_is_told_of_it_and_never_redirected",
    ),
]
