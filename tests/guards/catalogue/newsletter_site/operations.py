"""Guards of what operators and their machines ask: probes, metrics, the database that is away."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a worker whose row went is there again as soon as it is heard from
    beat: «INSERT INTO worker (id, started_at, heard_at, host, pid, warning) VALUES (%s,
        clock_timestamp(), clock_timestamp(), %s, %s, %s) ON CONFLICT (id) DO UPDATE → UPDATE
        worker» SET heard_at = clock_timestamp() «→ WHERE id = %s» ", [EXPIRES_AFTER, worker,
        worker«, host, pid, warning»
    test_worker_restores_its_deleted_row_and_its_warning
doubt about which nothing is asked any more wakes nobody once the issue was cancelled
    BATCHES: control IN ('closed'«, 'cancelled'»))
    test_doubt_that_asking_cannot_end_any_more_is_nobodys_to_be_woken_for
a database that hangs hangs no probe
    BoundedQuery.answer: future.result(«max(0.0, left_s) → 60»)
    test_a_database_that_hangs_hangs_no_probe
one question is on its way at a time
    BoundedQuery.answer: if «self._running is None → True»:
    test_concurrent_probes_share_one_query
the server ends a question that takes too long
    BoundedQuery._run: «f"{int(self._timeout_s * 1000)}ms" → "0"»
    test_the_server_cancels_slow_queries
a migration that lacks makes a site not ready
    migrations_result: if «not pending → True»: return HEALTHY
    test_a_migration_that_lacks_makes_it_not_ready_and_strangers_are_not_told_which
a worker that fell silent does not count
    load_activity: count(*) «FILTER (WHERE heard_at > clock_timestamp() - %(within)s::interval)»,
    test_a_worker_that_fell_silent_is_missed_after_a_minute_and_it_is_said_since_when
only the doors of operators are open whatever name is asked for
    OperationsMiddleware.process_request: «→ request.META['HTTP_HOST'] = 'localhost'¶» return None
    test_every_other_address_still_looks_at_the_name
without a token /metrics is for programs on this machine
    check_access: «and not any(name in meta for name in ADDED_BY_PROXIES)»
    test_without_a_token_nobody_else_is
without a token /metrics is not for a name that leads here
    check_access: «and _names_loopback(str(meta.get("HTTP_HOST", "")))»
    test_without_a_token_nobody_else_is
a token is asked for where one is set
    check_access: if «token → False»:
    test_with_a_token_it_alone_counts_wherever_one_comes_from
what could not be added to the tallies waits for the next time
    flush: «buffer.put_back(counts)»
    test_what_could_not_be_added_waits_for_the_next_time
what is rolled back is not counted
    add_on_commit: «transaction.on_commit(lambda: metrics_buffer.add(name, by, **labels)) →
        metrics_buffer.add(name, by, **labels)»
    test_what_is_rolled_back_is_not_counted
a page that misses the database is answered 503
    why: the page for faults looks as well, because faults between middlewares come there alone
    DatabaseUnavailable.process_exception: if «not is_unavailable(error) → True»:
    server_error: if «is_unavailable(sys.exc_info()[1]) → False»:
    test_a_session_ended_during_a_page_gives_503
a fault of another kind stays a fault
    _means_unavailable: return «sqlstate in _UNAVAILABLE or
        sqlstate.startswith(_NO_CONNECTION) → True»
    test_a_statement_timeout_stays_an_error
a scrape reads no mail on request that is over
    load_open_counts: , «f"AND {IS_OPEN}" → ""»)
    test_finished_mail_on_request_is_not_read_while_one_waits
failed test letters do not hide an issue that stopped
    EDITIONS: ELSE «is_open OR kind = 'newsletter' → true» END
    test_failed_test_letters_do_not_hide_an_issue_that_stopped
    test_finished_mail_on_request_is_not_read_after_one_given_up
of many open editions those that are held back are told
    EDITIONS: ORDER BY «is_held_back DESC,» is_letter DESC, id DESC
    test_what_is_held_back_comes_before_the_newest
a task that no worker runs any more is not reported
    IS_ACTIVE: «due_at > clock_timestamp() - interval '1 hour' → true»)
    test_a_task_that_no_worker_runs_any_more_is_not_reported
the log says why the provider could not be asked
    running: lease.name, error«.reason», wait_s
    test_the_line_in_the_log_says_why_the_provider_could_not_be_asked
a database that was away is told as no fault of pages
    observe_request: «UNAVAILABLE if status == 503 else»
    test_a_503_is_told_apart_from_faults
the first faults of a route are an increase
    _counter: if «metric.beside is not None → False»:
    test_the_faults_of_a_route_are_there_before_the_first
there are more threads than pages at once
    threads: threads = MAX_CONCURRENT_REQUESTS «+ 2»
    test_a_hanging_database_leaves_room_for_probes
the proxy redirects no call of a program
    deploy/nginx/homing.conf: location «/api/ → /no-api/» {
    test_plain_http_api_call_is_refused_without_redirect
the proxy redirects nobody who unsubscribes with one click
    deploy/nginx/homing.conf: location «/unsubscribe/ → /no-unsubscribe/» {
    test_one_click_unsubscribe_is_not_redirected
the proxy tells the site which requests came with TLS
    deploy/nginx/homing-proxy.conf: «proxy_set_header X-Forwarded-Proto $scheme;»
    test_page_and_form_are_served_over_tls
the site looks for no file on request
    WHITENOISE_USE_FINDERS: WHITENOISE_USE_FINDERS = True «→ ¶WHITENOISE_AUTOREFRESH = True»
    test_collected_style_sheet_is_compressed_and_cached_by_content
a worker says once that the database is away
    OutageLog.explains: if «self._since_s is None → True» and began_s
    test_an_outage_is_one_line_when_it_begins_and_one_when_it_is_over
what fails in an outage is the outage, and no fault of its own
    Worker._log_failure: logging.«DEBUG if explained else logging.»ERROR
    test_an_outage_is_one_line_when_it_begins_and_one_when_it_is_over
what failed in an outage that is just over is no fault of its own
    OutageLog.explains: is None «and began_s > self._ended_s»:
    test_what_failed_in_an_outage_is_told_as_part_of_it_after_the_end_too
a worker says that the database is back
    OutageLog.check_end: if «self._since_s is not None and _answers() → False»:
    test_an_outage_is_one_line_when_it_begins_and_one_when_it_is_over
a line that was cut is no outage
    OutageLog.explains: if «_answers() → False»:
    test_lines_that_are_cut_with_a_database_that_takes_others_are_no_outage
a page that finds no place is not begun
    LimitConcurrency.__call__: if «not self._slots.acquire() → False»:
    test_a_hanging_database_leaves_room_for_probes
where pages are stuck nobody waits for a place
    RequestSlots.acquire: lambda: self._free «or self.is_stuck», self._max_wait_s
    test_where_pages_are_stuck_whoever_finds_no_place_is_sent_away_at_once
whoever comes in a rush waits for a place
    RequestSlots.acquire: lambda: self._free or self.is_stuck, «self._max_wait_s → 0»
    test_whoever_finds_no_place_waits_for_one
mail on request that stopped is listed for a person
    load_undecided: editions = [*load_open_newsletters()«, *load_held_transactional()»]
    test_mail_on_request_that_stopped_is_listed_and_resumed_by_that_name
counters that go back with a restored database are others
    short_name: this.database«, stored.since»)::bytea
    test_counters_of_a_database_that_was_restored_are_others_than_before
a web process that is stopped adds its last counts
    worker_exit: «flush_at_exit()»
    test_latest_counters_are_saved_at_the_end
a fault that follows an outage stays a fault
    iter_causes: «(None if each.__suppress_context__ else each.__context__) → each.__context__»
    test_an_error_after_a_handled_outage_is_an_error
who asks by a name that is not the site's is told that
    bad_request: if «not isinstance(exception, DisallowedHost) → True»:
    test_an_unknown_host_gets_a_page
    test_an_unknown_host_is_one_warning_in_the_log
a call by a name that is not the site's is told that
    bad_request: if «request.path_info.startswith(BELOW) → False»:
    test_an_unknown_host_gets_a_problem_from_the_api
a name that is not the site's is a warning and no error
    LOGGING: «"django.security.DisallowedHost": {"level": "CRITICAL"},»
    test_an_unknown_host_is_one_warning_in_the_log
what cannot be measured because migrations lack is not called a database that is away
    _read: if «result.is_healthy → True»: raise
    test_where_it_cannot_be_measured_because_migrations_lack_that_is_said
migrations that lack keep nobody from measuring what is there
    _read: pending = find_pending_migrations(cursor) «→ ¶if pending:¶    return
        migrations_result(pending)»
    test_what_can_be_measured_without_the_migrations_that_lack_is_measured
only migrations that lack are called that
    _read: if «result.is_healthy → False»: raise
    test_what_fails_for_another_reason_is_not_called_a_migration_that_lacks
a shell is told once which migrations lack
    Command.handle: self.stderr.write(«result.reason → "\n".join((result.reason,
        *result.details))»)
    test_a_shell_is_told_once_which_migration_lacks
a name with a dot before it is that name too, as Django has it
    check_site_host: if «not validate_host(host, allowed) → host not in allowed»:
    test_a_name_that_the_site_answers_to_is_not_refused
an IPv6 address of the site stands in brackets, as in requests
    host_of: return «f"[{host}]" if ":" in host else» host
    test_a_name_that_the_site_answers_to_is_not_refused
    test_a_site_at_an_ipv6_address_answers_to_it
a blank secret is none
    Environment.secret: value = self.values«[name] if name in self else "" → .get(name, "")»
    test_a_blank_secret_counts_as_unset
an earlier key is one without the blank after its comma
    Environment.texts: [part«.strip()» for part in self.text(
    test_a_right_value_becomes_what_it_means
no form is told to wait for longer than PostgreSQL can be told
    IDEMPOTENCY_WAIT_S: IDEMPOTENCY_WAIT_S", 10, least=0.05«, most=300»)
    test_a_wrong_value_ends_with_one_sentence
what is asked for by HEAD writes no warning
    application: «drop_head_bodies(»refuse_truncated_bodies(ignore_charset(
        get_wsgi_application()))«)»
    test_head_has_the_length_and_logs_no_warning
an answer to HEAD comes to its end
    drop_head_bodies: «response.close() → pass»
    test_head_closes_the_response_without_its_body
nobody is believed about https while no proxy is trusted
    secure_scheme_headers: «secure_scheme_headers: dict[str, str] = {}»
    test_proxy_headers_are_ignored_without_a_trusted_proxy
nobody moves the site to another path by a header
    forwarder_headers: «forwarder_headers = ""»
    test_script_name_header_cannot_move_the_site
the site reads forms as UTF-8, whatever character set a request names
    application: refuse_truncated_bodies(«ignore_charset(»get_wsgi_application()«)»))
    test_it_says_what_was_asked_for_and_what_broke_where_and_no_address
the sandbox makes links of web addresses only
    _unsubscribe: for t in targets if «t.lower().startswith(("http:", "https:")) → t»
    test_only_a_web_address_becomes_an_unsubscribe_link
""")
