"""Guards of operations: probes, metrics, proxies and database outages."""

from tests.guards.notation import guards

GUARDS = guards(r"""
children stop when their parent is killed
    ProcessGroup._run_child: try: «os.close(self._writing) → pass»
    test_children_of_a_killed_parent_finish_their_calls
Ctrl-C in a terminal reaches the children once
    ProcessGroup._run_child: (signal.SIGCHLD, signal.SIGALRM«→ , signal.SIGINT»))
    test_first_signal_lets_all_calls_finish[Ctrl-C in a terminal]
a child that ends unexpectedly is replaced
    ProcessGroup._start_due: if child.pid is None and not self._is_stopping «→ and not
        child.failures» and child.start_at_s
    test_children_that_end_are_replaced_and_nobody_gets_two
a child that fails again and again is replaced ever later
    ProcessGroup._start_due: «and child.start_at_s <= now_s()»:
    test_children_that_fail_at_their_start_begin_ever_later
a second signal ends the children at once
    ProcessGroup._kill: «os.kill(child.pid, signal.SIGKILL) → pass»
    test_second_signal_ends_all_processes_at_once
a child that is killed while it stops is reported
    ProcessGroup._record_end: self._all_ended_well = «False → True»
    test_child_killed_while_stopping_makes_the_exit_code_1
two processes never share a database connection
    ProcessGroup.run: «connections.close_all() → pass»
    test_first_signal_lets_all_calls_finish
a worker whose row was deleted returns with its next heartbeat
    beat: «INSERT INTO worker (id, started_at, heard_at, host, pid, problems) VALUES (%s,
        clock_timestamp(), clock_timestamp(), %s, %s, %s::jsonb) ON CONFLICT (id) DO UPDATE →
        UPDATE worker» SET heard_at = clock_timestamp()«, problems = excluded.problems → WHERE id =
        %s» ", [EXPIRES_AFTER, worker, worker«, host, pid, dumps_all(problems)»
    test_each_heartbeat_replaces_the_problems_of_its_worker
a heartbeat replaces the worker's problems
    beat: clock_timestamp()«, problems = excluded.problems»
    test_each_heartbeat_replaces_the_problems_of_its_worker
unconfirmed copies of a cancelled issue raise no alert
    BATCHES: control IN ('closed'«, 'cancelled'»))
    test_unknowns_that_lookups_cannot_settle_do_not_alert
a hanging database does not hang probes
    BoundedQuery.answer: future.result(«max(0.0, left_s) → 60»)
    test_hanging_database_does_not_hang_probes
one query of a probe runs at a time
    BoundedQuery.answer: if «self._running is None → True»:
    test_concurrent_probes_share_one_query
the server ends a query that takes too long
    BoundedQuery._run: «f"{int(self._timeout_s * 1000)}ms" → "0"»
    test_the_server_cancels_slow_queries
a missing migration makes a site not ready
    migrations_result: if «not pending → True»: return HEALTHY
    test_a_pending_migration_is_counted_but_not_named
a worker without a recent heartbeat does not count
    load_activity: count(*) «FILTER (WHERE {IS_ACTIVE_WORKER})»,
    test_a_silent_worker_is_reported_after_a_minute
only operations URLs are open under any host name
    OperationsMiddleware.process_request: «→ request.META['HTTP_HOST'] = 'localhost'¶» return None
    test_every_other_address_still_checks_the_host_name
without a token only programs on this machine may read /metrics
    check_access: «and not any(name in meta for name in ADDED_BY_PROXIES)»
    test_without_a_token_others_are_refused
without a token a host name that leads here may not read /metrics
    check_access: «and _names_loopback(str(meta.get("HTTP_HOST", "")))»
    test_without_a_token_others_are_refused
a configured token is required
    check_access: if «token → False»:
    test_with_a_token_only_the_token_counts
counts that could not be added wait for the next flush
    flush: «buffer.put_back(counts)»
    test_counts_wait_after_a_failed_flush
what is rolled back is not counted
    add_on_commit: «transaction.on_commit(lambda: metrics_buffer.add(name, by, **labels)) →
        metrics_buffer.add(name, by, **labels)»
    test_rolled_back_work_is_not_counted
a page without a database is answered 503
    why: the error page checks as well, because it alone sees errors between middlewares
    unavailable_page: if «not is_unavailable(error) → True»:
    server_error: if «is_unavailable(sys.exc_info()[1]) → False»:
    test_a_session_ended_during_a_page_gives_503
another error stays an error
    _means_unavailable: return «sqlstate in _UNAVAILABLE or
        sqlstate.startswith(_NO_CONNECTION) → True»
    test_a_statement_timeout_stays_an_error
a scrape does not read finished transactional mail
    load_open_counts: «_OPEN_BATCHES → _ALL_BATCHES»,
    test_finished_mail_on_request_is_not_read_while_one_waits
failed test letters do not hide an issue that stopped
    EDITIONS: ELSE «is_open OR kind = 'newsletter' → true» END
    test_failed_test_letters_do_not_hide_an_issue_that_stopped
    test_finished_transactional_mail_is_not_read
among many open editions the held-back ones are reported
    EDITIONS: ORDER BY «is_held_back DESC,» is_letter DESC, id DESC
    test_paused_editions_come_before_the_newest
a task that no worker runs any more is not reported
    IS_ACTIVE: «due_at > clock_timestamp() - interval '1 hour' → true»)
    test_task_without_a_worker_is_not_reported
the log gives the reason why the provider could not be asked
    running: lease.name, error«.reason», wait_s
    test_log_line_states_why_polling_failed
a database outage is not reported as an error of pages
    observe_request: «UNAVAILABLE if status == 503 else»
    test_a_503_is_not_counted_as_an_error
the first errors of a route count as an increase
    _counter: if «metric.beside is not None → False»:
    test_a_routes_error_counter_exists_before_its_first_error
the server has more threads than page slots
    threads: threads = MAX_CONCURRENT_REQUESTS «+ 2»
    test_hanging_database_leaves_room_for_probes
the proxy redirects no call of a program
    deploy/nginx/homing.conf: location «/api/ → /no-api/» {
    test_plain_http_api_call_is_refused_without_redirect
the proxy does not redirect one-click unsubscribes
    deploy/nginx/homing.conf: location ~* ^«/unsubscribe/ → /no-unsubscribe/» {
    test_one_click_unsubscribe_is_not_redirected
the proxy reports to the site which requests used TLS
    deploy/nginx/homing-proxy.conf: «proxy_set_header X-Forwarded-Proto $scheme;»
    test_page_and_form_are_served_over_tls
the site does not search for files on request
    WHITENOISE_USE_FINDERS: WHITENOISE_USE_FINDERS = True «→ ¶WHITENOISE_AUTOREFRESH = True»
    test_collected_style_sheet_is_compressed_and_cached_by_content
a worker reports an outage once
    DatabaseFault.explains: if «self._is_away() → False»: return
    test_outage_logs_one_line_at_its_begin_and_end
a failure during an outage is part of the outage
    Worker._log_failure: logging.«DEBUG if explained else logging.»ERROR
    test_outage_logs_one_line_at_its_begin_and_end
a failure just after an outage is part of the outage
    DatabaseFault.explains: «if began_s <= self._was_reached_s: return True»
    test_an_ended_outage_still_explains_earlier_failures
a worker reports the end of an outage
    DatabaseFault.succeeded: if «_refusal() is None → False»:
    test_outage_logs_one_line_at_its_begin_and_end
the log names the cause of an outage
    DatabaseFault._begin: nothing is lost, and work is retried«: %s», «cause_of(error),»
    test_outage_logs_one_line_at_its_begin_and_end
a cut connection is no outage
    DatabaseFault.explains: if (refused := «_refusal() → error») is not None:
    test_cut_connections_to_a_working_database_are_no_outage
a single failed write is no fault
    is_repeated: return failures >= least «and for_s >= REPEATED_AFTER_S»
    test_repeated_failures_are_a_fault_until_that_work_succeeds
a write that succeeds again is no fault
    DatabaseFault.succeeded: «self._streaks.pop(work, None) → pass»
    test_a_success_between_two_failures_prevents_a_fault
a success of other work does not end a fault
    DatabaseFault.succeeded: if «other != work and → False and» failed_s
    test_repeated_failures_are_a_fault_until_that_work_succeeds
a fault ends although its work is not tried again
    DatabaseFault.succeeded: if other != work «and failed_s > quiet_since_s»
    test_work_that_is_not_tried_again_prolongs_no_fault
an error about data is no fault of the database
    fault_of: if is_about_data or «sqlstate.startswith(_ABOUT_DATA) → False»:
    test_errors_about_data_are_no_fault
a fault logs at most a line a minute
    DatabaseFault._count: if (silent_s := self._clock() - fault.logged_s) >= «LOG_EVERY_S → 0»:
    test_a_fault_logs_its_begin_each_minute_and_its_end
a site whose writes fail is not ready
    check_ready: if «fault.code in STOPS_THE_SITE → False»:
    test_only_a_fault_of_all_workers_makes_the_checks_fail
workers whose writes fail are not healthy
    _check_workers: if «activity.write_fault → False»:
    test_only_a_fault_of_all_workers_makes_the_checks_fail
a fault of one worker is a warning
    shared_write_fault: if faulty «and len(faulty) == active» else None
    test_only_a_fault_of_all_workers_makes_the_checks_fail
a web process remembers its failing writes
    load_write_faults: filter(None, («own.problem(), → None,»
    test_a_web_process_remembers_its_own_failing_writes
a site whose role lacks a permission says so
    load_refusals: if «lacks_permission → False»:
    test_site_without_a_permission_is_not_ready
fewer workers than expected are a warning
    _missing_workers: «or active >= expected → or True»:
    test_fewer_workers_than_expected_are_a_warning
sending counts as normal only while copies move
    EditionCounts.still_since: return since if «self.now - since > MOVES_WITHIN → False» else None
    test_waiting_sentence_names_the_reason
a request without a slot is not started
    LimitConcurrency.__call__: if «not self._slots.acquire() → False»:
    test_hanging_database_leaves_room_for_probes
no request waits for a slot while pages hang
    RequestSlots.acquire: lambda: self._free «or self.is_stuck», self._max_wait_s
    test_while_pages_are_stuck_requests_get_503_at_once
a burst of requests waits for slots
    RequestSlots.acquire: lambda: self._free or self.is_stuck, «self._max_wait_s → 0»
    test_a_request_waits_for_a_free_slot
stopped transactional mail is in the to-do list
    load_undecided: editions = [*load_open_newsletters()«, *load_held_transactional()»]
    test_the_command_lists_stopped_transactional_mail
counters that decrease with a restored database start anew
    short_name: this.database«, stored.since»)::bytea
    test_a_restored_database_starts_new_counters
a web process adds its last counts when it stops
    work: server.run() «flush_at_exit()»
    test_latest_counters_are_saved_at_the_end
an error that follows an outage stays an error
    iter_causes: «(None if each.__suppress_context__ else each.__context__) → each.__context__»
    test_an_error_after_a_handled_outage_is_an_error
a page request with an unknown host name gets an explanation
    bad_request: if «not isinstance(exception, DisallowedHost) → True»:
    test_an_unknown_host_gets_a_page
    test_an_unknown_host_is_one_warning_in_the_log
an API call with an unknown host name gets an explanation
    bad_request: if «request.path_info.startswith(API_ROOT) → False»:
    test_an_unknown_host_gets_a_problem_from_the_api
an unknown host name is a warning and no error
    LOGGING: «"django.security.DisallowedHost": {"level": "CRITICAL"},»
    test_an_unknown_host_is_one_warning_in_the_log
metrics without migrations do not report a database outage
    _read: if «result.is_healthy → True»: raise
    test_unreadable_metrics_name_pending_migrations
missing migrations do not stop other metrics
    _read: checks.find_pending_migrations(cursor) «→ ¶if pending:¶    return
        checks.migrations_result(pending)»
    test_metrics_are_read_despite_pending_migrations
only missing migrations are reported as such
    _read: if «result.is_healthy → False»: raise
    test_other_errors_are_not_called_pending_migrations
the command line reports missing migrations once
    Command.handle: self.stderr.write(«result.reason → "\n".join((result.reason,
        *result.details))»)
    test_the_command_names_the_pending_migration
a host name with a leading dot includes the name itself, as in Django
    check_site_host: if «not validate_host(host, allowed) → host not in allowed»:
    test_a_name_that_the_site_answers_to_is_not_refused
an IPv6 address of the site is in brackets, as in requests
    host_of: return «f"[{host}]" if ":" in host else» host
    test_a_name_that_the_site_answers_to_is_not_refused
    test_a_site_at_an_ipv6_address_answers_to_it
a blank secret counts as missing
    Environment.secret: value = self.values«[name] if name in self else "" → .get(name, "")»
    test_a_blank_secret_counts_as_unset
an earlier key excludes the blank after its comma
    Environment.texts: [part«.strip()» for part in self.text(
    test_valid_values_are_converted
the time-out of a form fits PostgreSQL's limit
    IDEMPOTENCY_WAIT_S: IDEMPOTENCY_WAIT_S", 10, least=0.05«, most=300»)
    test_a_wrong_value_ends_with_one_sentence
a HEAD request logs no warning
    application: «drop_head_bodies(»refuse_truncated_bodies(ignore_charset(
        get_wsgi_application()))«)»
    test_head_has_the_length_and_logs_no_warning
an answer to HEAD is complete
    drop_head_bodies: «response.close() → pass»
    test_head_closes_the_response_without_its_body
only the site reads the headers of a proxy
    Server.__init__: «clear_untrusted_proxy_headers=False → clear_untrusted_proxy_headers=True»
    test_proxy_headers_of_a_trusted_proxy_are_used
a slow request holds no thread
    _Awaited.readinto: raise «BodyAwaited → OSError»
    test_slow_forms_hold_no_thread[/subscriptions/]
a refusal does not wait for the body
    RequestParser.may_be_asked: return «self.headers_finished → False and self.headers_finished»
    test_refusals_do_not_wait_for_the_body[/api/v1/issues/]
a request that arrives too slowly is refused in the end
    Connection.maintain: elif «self.request.time_left_s() <= 0 → False»:
    test_slow_requests_are_refused_in_the_end
large bodies together have a limit
    Connection._admit: if request.on_disk and «not self.server.has_room() → False»:
    test_large_bodies_together_have_a_limit
an early answer reaches a client that still sends
    Connection.handle_close: if «not self.is_unread or → True or» self._lingers_until_s
    test_page_for_a_form_too_large_is_shown
a stopping site answers the requests that it has accepted
    Server._has_ended: return «not self.active_channels → True» or
    test_restart_refuses_no_visitor
the site reads forms as UTF-8, whatever character set a request names
    application: refuse_truncated_bodies(«ignore_charset(»get_wsgi_application()«)»))
    test_a_failed_request_logs_route_and_error_without_addresses
the sandbox links only web addresses
    _unsubscribe: for t in targets if «t.lower().startswith(("http:", "https:")) → t»
    test_only_a_web_address_becomes_an_unsubscribe_link
""")
