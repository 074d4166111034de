"""Guards of the log: nothing told in confidence stands in it, and its ids name what is meant."""

from __future__ import annotations

from tests.guards.guard import Change, covered, guard

LINES = "newsletter_site/logs/lines.py"
NET = "newsletter_site/logs/net.py"
REQUESTS = "newsletter_site/logs/requests.py"
ROUTES = "newsletter_site/logs/routes.py"
UNCAUGHT = "newsletter_site/logs/uncaught.py"
A_LINE = "tests/newsletter_site/test_lines_of_the_log.py::"
A_REQUEST = "tests/newsletter_site/test_the_log_of_requests.py::"
NOTHING_CATCHES = (
    "tests/newsletter_site/test_faults_in_the_log.py::"
    "test_what_nothing_catches_is_a_line_without_its_words"
)
TAKEN_OUT = f"{A_LINE}test_secrets_addresses_and_tokens_are_taken_out"
A_WORKER = "tests/delivery/test_ids_on_the_lines_of_a_worker.py::"

OWN_LOG = "tests/newsletter_site/test_the_databases_own_log.py::"
LEAVES = f"{OWN_LOG}test_a_statement_that_fails_leaves_neither_its_words_nor_the_row_in_its_way"

GUARDS = [
    guard(
        "what a person goes by after a restored backup is logged at every level",
        "newsletter_site/settings.py",
        '        **{name: {"level": "INFO"} for name in WRITTEN_AT_EVERY_LEVEL},\n',
        "",
        "tests/publishing/test_what_is_logged_at_every_level.py"
        "::test_it_is_logged_what_was_cancelled_and_who_was_erased",
    ),
    guard(
        "the server brought along logs no statement that failed",
        "newsletter_site/embedded_postgres/server.py",
        '    "log_min_error_statement": "panic",\n',
        "",
        LEAVES,
    ),
    guard(
        "the server brought along logs no row that was in the way of another",
        "newsletter_site/embedded_postgres/server.py",
        '    "log_error_verbosity": "terse",\n',
        "",
        LEAVES,
    ),
    guard(
        "who is added twice at once makes no statement fail that a server would log",
        "subscribers/adding.py",
        "    ON CONFLICT (email_key) DO NOTHING\n",
        "",
        "tests/subscribers/test_adding_who_is_being_added.py::"
        "test_the_second_fails_nothing_that_the_server_would_write_down",
    ),
    guard(
        "a form posted twice makes no statement fail that a server would log",
        "newsletter_site/tokens/keeping.py",
        "            ignore_conflicts=True,\n",
        "",
        "tests/newsletter_site/test_tokens.py::"
        "test_a_form_posted_twice_makes_one_token_and_fails_nothing_at_the_database",
    ),
    guard(
        "the log tells of a fault its kind and not its words",
        "newsletter_site/logs/faults.py",
        "[type(error).__qualname__, *(",
        "[repr(error), *(",
        f"{A_LINE}test_of_a_fault_the_kinds_and_the_places_are_written_and_never_the_words",
    ),
    guard(
        "the log tells a fault by its kind where it is an argument",
        LINES,
        "    if isinstance(value, BaseException):\n",
        "    if False:\n",
        f"{A_LINE}test_a_fault_that_is_told_as_an_argument_is_told_by_its_kind",
    ),
    guard(
        "the log tells a fault by its kind where its words are the message",
        LINES,
        "if error is not None and record.msg == str(error):",
        "if False:",
        f"{A_LINE}test_a_fault_that_is_told_as_an_argument_is_told_by_its_kind",
    ),
    guard(
        "a line of the log that cannot be made is not printed as it is",
        LINES,
        "def handleError(self, record",
        "def not_called(self, record",
        f"{A_LINE}test_of_a_line_that_cannot_be_made_only_where_it_was_is_written",
    ),
    guard(
        "what nothing catches is logged without its words",
        UNCAUGHT,
        "    sys.excepthook = _ends_the_process\n",
        "",
        NOTHING_CATCHES,
    ),
    guard(
        "what ends a thread is logged without its words",
        UNCAUGHT,
        "    threading.excepthook = _ends_a_thread\n",
        "",
        NOTHING_CATCHES,
    ),
    guard(
        "a warning of a library is a line of the log",
        UNCAUGHT,
        "    logging.captureWarnings(capture=True)\n",
        "",
        NOTHING_CATCHES,
    ),
    guard(
        "secrets of the settings are taken out of every line of the log",
        NET,
        "            text = self._secrets.sub(SECRET, text)",
        "            pass",
        TAKEN_OUT,
    ),
    guard(
        "addresses are taken out of every line of the log",
        NET,
        "            text = _ADDRESS.sub(ADDRESS, text)",
        "            pass",
        TAKEN_OUT,
    ),
    guard(
        "tokens are taken out of every line of the log",
        NET,
        "return _RUN.sub(_unless_harmless, text)",
        "return text",
        TAKEN_OUT,
    ),
    guard(
        "of a link the log has the host alone",
        NET,
        '            text = _LINK.sub(r"\\1/…", text)',
        "            pass",
        TAKEN_OUT,
    ),
    guard(
        "what somebody else said is not in the log",
        NET,
        '            text = _QUOTED.sub("“…”", text)',
        "            pass",
        TAKEN_OUT,
    ),
    guard(
        "ids stay in the log, which is searched for them",
        NET,
        "    if _ID.fullmatch(text):\n        return False\n",
        "",
        f"{A_LINE}test_words_names_and_ids_stay",
    ),
    guard(
        "the log has the route of a page where Django tells its address",
        ROUTES,
        "route_of(request) if isinstance(each, str) and each in addresses else each\n",
        "each\n",
        f"{A_REQUEST}test_no_line_has_the_address_that_was_asked_for",
    ),
    guard(
        "the log has no address with a letter beyond ASCII",
        ROUTES,
        "    addresses |= {_escaped(address) for address in addresses}\n",
        "",
        f"{A_REQUEST}test_no_line_has_the_address_that_was_asked_for",
    ),
    guard(
        "the log has neither address nor visitor where gunicorn tells them",
        ROUTES,
        'if record.name == "gunicorn.error":',
        "if False:",
        f"{A_LINE}test_a_line_of_gunicorn_tells_neither_the_address_nor_the_visitor",
    ),
    guard(
        "only a trusted proxy gives a request its id",
        REQUESTS,
        'request.headers.get(HEADER, "") if settings.TRUST_PROXY else ""',
        'request.headers.get(HEADER, "")',
        f"{A_REQUEST}test_nobody_but_a_trusted_proxy_gives_an_id",
    ),
    guard(
        "what is no id of a request is not taken for one",
        REQUESTS,
        "return told if _ID.fullmatch(told) else uuid.uuid4().hex",
        "return told or uuid.uuid4().hex",
        f"{A_REQUEST}test_what_is_no_id_is_not_taken_for_one",
    ),
    covered(
        "nothing of a request stands on the lines of the next",
        "the ids end with a request, and once more before the next begins",
        (
            Change(REQUESTS, "        clear_contextvars()  #", "        #"),
            Change(
                REQUESTS, "    _log_request()\n    clear_contextvars()\n", "    _log_request()\n"
            ),
        ),
        f"{A_REQUEST}test_a_page_of_an_issue_has_the_issue_on_its_line_and_the_next_has_not",
    ),
    guard(
        "nothing of a request stands on a line about what is no request",
        REQUESTS,
        "    _log_request()\n    clear_contextvars()\n",
        "    _log_request()\n",
        f"{A_REQUEST}test_nothing_of_a_request_stands_on_a_line_about_what_is_no_request",
    ),
    guard(
        "an id ends with what it names",
        "delivery/log_ids.py",
        "        clear_contextvars()\n        bind_contextvars(**before)",
        "        pass",
        f"{A_LINE}test_an_id_ends_with_its_scope_and_what_was_bound_before_comes_back",
    ),
    guard(
        "a thread logs under the ids of whoever began it",
        "delivery/log_ids.py",
        "return context.copy().run(work, *arguments, **named)",
        "return work(*arguments, **named)",
        f"{A_REQUEST}test_a_thread_of_a_request_logs_with_the_ids_of_the_request",
    ),
    guard(
        "the log says only of what was committed that it was published",
        "publishing/publish.py",
        "    transaction.on_commit(log)\n",
        "    log()\n",
        f"{A_REQUEST}test_what_is_rolled_back_was_never_published_for_the_log_either",
    ),
    guard(
        "a line about a call names its issue, its batch and itself",
        "delivery/dispatch.py",
        "        bind_claim(claimed)\n        log_ids.bind(attempt=attempt)\n",
        "",
        f"{A_WORKER}test_the_line_of_a_call",
        f"{A_WORKER}test_the_line_of_a_step_that_broke_names_what_it_had_in_hand",
    ),
    guard(
        "the line of a look-up names the call that it asks about",
        "delivery/dispatch.py",
        "            bind_claim(doubtful)\n            log_ids.bind(attempt=doubtful.attempt)\n",
        "",
        f"{A_WORKER}test_the_line_of_a_look_up_names_the_call_that_is_asked_about",
    ),
    guard(
        "the sweep names the call that was lost",
        "delivery/queue/sweep.py",
        "            log_ids.bind(attempt=lost.attempt)\n",
        "",
        f"{A_WORKER}test_the_line_of_the_sweep_names_the_call_and_the_next_line_does_not",
    ),
    guard(
        "what is answered before its page is looked up has its route too",
        "newsletter_site/logs/routes.py",
        'getattr(request, "resolver_match", None) or _match_of(request)',
        'getattr(request, "resolver_match", None)',
        "tests/newsletter_site/test_the_log_of_requests.py::"
        "test_no_line_has_the_address_that_was_asked_for",
    ),
    guard(
        "what is written of a fault in debug goes through the net too",
        LINES,
        '"\\n".join(map(self._net.through, traceback.splitlines()))',
        "traceback",
        f"{A_LINE}test_in_development_the_words_of_a_fault_go_through_the_net_too",
    ),
]
