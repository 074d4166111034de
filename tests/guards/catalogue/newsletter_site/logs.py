"""Guards of the log: no confidential text, and correct ids."""

from tests.guards.notation import guards

GUARDS = guards(r"""
the reader ids to check after a restore are logged at every level
    LOGGING: «**{name: {"level": "INFO"} for name in ALWAYS_LOGGED},»
    test_cancellations_and_erasures_are_logged
the embedded server logs no failed statement
    SETTINGS: «"log_min_error_statement": "panic",»
    test_a_failed_statement_and_its_row_are_not_logged
the embedded server logs no conflicting row
    SETTINGS: «"log_error_verbosity": "terse",»
    test_a_failed_statement_and_its_row_are_not_logged
a reader added twice at once causes no logged failed statement
    INSERT: END «ON CONFLICT (email_key) DO NOTHING»
    test_adding_a_reader_twice_logs_no_database_error
a form posted twice causes no logged failed statement
    create_token: «ignore_conflicts=True,» ) row
    test_a_form_posted_twice_creates_one_token
an error is logged by its kind, without its text
    describe_type: [«type(error).__qualname__ → repr(error)», *(
    test_an_error_is_logged_by_types_and_places
an error that is an argument is logged by its kind
    _without_messages: if «isinstance(value, BaseException) → False»:
    test_an_error_as_argument_is_logged_by_type
an error that is the message is logged by its kind
    _hide_messages: if «error is not None and record.msg == str(error) → False»:
    test_an_error_as_argument_is_logged_by_type
a log line that cannot be formatted is not printed unredacted
    StderrHandler.handleError: def «handleError → not_called»(self, record
    test_an_unformattable_line_logs_only_its_place
an uncaught error is logged without its text
    install_exception_hooks: «sys.excepthook = _log_end_of_process»
    test_uncaught_errors_are_logged_without_their_messages
an error that ends a thread is logged without its text
    install_exception_hooks: «threading.excepthook = partial( _log, logging.CRITICAL,
        "a thread ended with an error", threading.__excepthook__ )»
    test_uncaught_errors_are_logged_without_their_messages
a library's warning is a log line
    install_exception_hooks: «logging.captureWarnings(capture=True)»
    test_uncaught_errors_are_logged_without_their_messages
secrets of the settings are redacted in every log line
    Redactor.redact: «text = self._secrets.sub(SECRET, text) → pass»
    test_secrets_addresses_and_tokens_are_taken_out
addresses are redacted in every log line
    Redactor.redact: «text = redact_addresses(text, ADDRESS) → pass»
    test_secrets_addresses_and_tokens_are_taken_out
tokens are redacted in every log line
    Redactor.redact: return «_RUN.sub(lambda run: TOKEN if looks_random(run[0]) else run[0], text)
        → text»
    test_secrets_addresses_and_tokens_are_taken_out
links are logged with their host only
    Redactor.redact: «text = _LINK.sub(r"\1/…", text) → pass»
    test_secrets_addresses_and_tokens_are_taken_out
texts from outside are not in the log
    Redactor.redact: «text = _QUOTED.sub("“…”", text) → pass»
    test_secrets_addresses_and_tokens_are_taken_out
ids stay in the log for searching
    looks_random: «if _ID.fullmatch(text): return False»
    test_ordinary_words_names_and_ids_are_not_redacted
the log has the route of a page where Django gives its address
    _hide_path_of: «route_of(request) if isinstance(each, str) and each in paths else» each
    test_paths_are_not_logged
an address with letters beyond ASCII is redacted
    _hide_path_of: «paths |= {path.encode("unicode_escape").decode("ascii") for path in paths}»
    test_paths_are_not_logged
the log has no path where waitress gives it
    hide_paths: if «record.name == "waitress" → False»:
    test_log_lines_of_the_web_server_contain_no_path
only a trusted proxy sets a request's id
    id_of: request.headers.get(HEADER, "") «if settings.TRUST_PROXY else ""»
    test_only_a_trusted_proxy_can_set_the_request_id
a malformed request id is ignored
    id_of: return given «if _ID.fullmatch(given) else → or» uuid.uuid4().hex
    test_an_invalid_request_id_is_replaced
ids of a request are not on the next request's lines
    why: the ids are cleared after a request, and again before the next one
    RequestLogging.__call__: «clear_contextvars()» request_id
    _log_request: extra=fields) «clear_contextvars()»
    test_an_issues_page_is_logged_with_the_issue
ids of a request are not on lines outside requests
    _log_request: extra=fields) «clear_contextvars()»
    test_lines_outside_requests_have_no_request_fields
an id ends with the work that it names
    scope: «clear_contextvars() bind_contextvars(**before) → pass»
    test_a_scope_restores_the_ids_bound_before
a thread logs under the ids of the thread that started it
    inherited.in_thread: «context.copy().run(work, *arguments, **named) → work(*arguments,
        **named)»
    test_a_thread_of_a_request_logs_its_ids
publishing is logged only after its commit
    _log_on_commit: «transaction.on_commit(log) → log()»
    test_rolled_back_work_is_not_logged_as_done
a line about a call names its issue, its batch and itself
    Dispatcher.send: «bind_claim(claimed, attempt)»
    test_the_log_line_of_a_call_names_its_ids
    test_the_line_of_a_broken_step_names_its_call
the line of a look-up names its call
    Dispatcher._look_up: «bind_claim(claimed, claimed.attempt)»
    test_the_line_of_a_look_up_names_its_call
the reaper names the lost call
    _recover_all: «log_context.bind(attempt=held.attempt)»
    test_the_line_of_the_sweep_alone_names_its_call
an answer before routing has its route in the log too
    route_of: getattr(request, "resolver_match", None) «or resolve(request.path_info)»
    test_paths_are_not_logged
an error shown in debug is redacted too
    LineFormatter._frames: «"\n".join(map(self._redactor.redact, traceback.splitlines())) →
        traceback»
    test_in_development_error_messages_are_redacted
""")
