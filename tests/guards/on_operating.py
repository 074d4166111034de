"""Guards of what operators and their machines ask: probes, metrics, the database that is away."""

from __future__ import annotations

from tests.guards.guard import Change, covered, guard

CHECKS = "tests/newsletter_site/test_health_checks.py::"
AWAY = "tests/faults/test_pages_without_a_database.py::"
LEAVES_ROOM = (
    "tests/faults/test_probes_beside_pages_that_hang.py::"
    "test_a_database_that_hangs_leaves_room_for_probes_and_nothing_that_is_refused_was_begun"
)
METRICS = "tests/newsletter_site/test_metrics.py::"
LACKING = "tests/newsletter_site/test_metrics_before_the_migrations.py::"
FAILS = "tests/newsletter_site/test_a_database_that_fails.py::"
STANDING = "tests/delivery/test_what_a_reading_of_the_standing_costs.py::"
OUTAGE = "tests/faults/test_a_worker_says_that_the_database_is_away.py::"
NAMES = "tests/newsletter_site/test_a_name_that_is_not_the_sites.py::"
PROXY = "tests/deployment/test_the_proxy_in_front.py::"
BEFORE = "tests/newsletter_site/test_checks_before_deploying.py::"
SETTINGS = "tests/newsletter_site/test_settings_from_the_environment.py::"
BY_HEAD = "tests/deployment/test_asked_for_by_head.py::"
PLACES = "tests/newsletter_site/test_places_for_pages.py::"
ASKED = "newsletter_site/operating/asked_in_time.py"

GUARDS = [
    guard(
        "a worker whose row went is there again as soon as it is heard from",
        "delivery/queue/presence.py",
        "            INSERT INTO worker (id, started_at, heard_at, host, pid, warning)\n"
        "            VALUES (%s, clock_timestamp(), clock_timestamp(), %s, %s, %s)\n"
        "            ON CONFLICT (id) DO UPDATE SET heard_at = clock_timestamp()\n"
        '            """,\n'
        "            [worker, host, pid, warning],\n",
        "            UPDATE worker SET heard_at = clock_timestamp() WHERE id = %s\n"
        '            """,\n'
        "            [worker],\n",
        "tests/delivery/test_health.py"
        "::test_a_worker_whose_row_went_meanwhile_is_there_again_with_what_it_found_wrong",
    ),
    guard(
        "doubt about which nothing is asked any more wakes nobody once the issue was cancelled",
        "delivery/queue/standing.py",
        "control IN ('closed', 'cancelled'))",
        "control IN ('closed'))",
        "tests/newsletter_site/test_metrics.py"
        "::test_doubt_that_asking_cannot_end_any_more_is_nobodys_to_be_woken_for",
    ),
    guard(
        "a database that hangs hangs no probe",
        ASKED,
        "if not asked.is_over.wait(max(0.0, left_s)):",
        "if not asked.is_over.wait(60):",
        f"{AWAY}test_a_database_that_hangs_hangs_no_probe",
    ),
    guard(
        "one question is on its way at a time",
        ASKED,
        "            if asked is None:\n",
        "            if True:\n",
        f"{FAILS}test_probes_that_come_at_once_put_one_question",
    ),
    guard(
        "the server ends a question that takes too long",
        ASKED,
        'f"{int(self._within_s * 1000)}ms"',
        '"0"',
        f"{FAILS}test_the_server_itself_ends_what_takes_too_long",
    ),
    guard(
        "a migration that lacks makes a site not ready",
        "newsletter_site/operating/verdict.py",
        "    if not missing:\n",
        "    if True:\n",
        f"{CHECKS}test_a_migration_that_lacks_makes_it_not_ready_and_strangers_are_not_told_which",
    ),
    guard(
        "a worker that fell silent does not count",
        "delivery/queue/presence.py",
        "count(*) FILTER (WHERE heard_at > clock_timestamp() - %(within)s::interval),",
        "count(*),",
        f"{CHECKS}"
        "test_a_worker_that_fell_silent_is_missed_after_a_minute_and_it_is_said_since_when",
    ),
    guard(
        "only the doors of operators are open whatever name is asked for",
        "newsletter_site/operating/doors.py",
        "            return self.get_response(request)\n",
        "            request.META['HTTP_HOST'] = 'localhost'\n"
        "            return self.get_response(request)\n",
        f"{CHECKS}test_every_other_address_still_looks_at_the_name",
    ),
    guard(
        "without a token /metrics is for programs on this machine",
        "newsletter_site/operating/who_may_measure.py",
        "        and not any(name in meta for name in ADDED_BY_PROXIES)\n",
        "",
        f"{METRICS}test_without_a_token_nobody_else_is",
    ),
    guard(
        "without a token /metrics is not for a name that leads here",
        "newsletter_site/operating/who_may_measure.py",
        '        and _names_loopback(str(meta.get("HTTP_HOST", "")))\n',
        "",
        f"{METRICS}test_without_a_token_nobody_else_is",
    ),
    guard(
        "a token is asked for where one is set",
        "newsletter_site/operating/who_may_measure.py",
        "    if token:\n",
        "    if False:\n",
        f"{METRICS}test_with_a_token_it_alone_counts_wherever_one_comes_from",
    ),
    guard(
        "what could not be added to the tallies waits for the next time",
        "delivery/queue/tally.py",
        "        counted.give_back(counts)\n",
        "",
        "tests/delivery/test_tallies.py::test_what_could_not_be_added_waits_for_the_next_time",
    ),
    guard(
        "what is rolled back is not counted",
        "delivery/tally.py",
        "    transaction.on_commit(lambda: tallies.add(name, by, **labels))\n",
        "    tallies.add(name, by, **labels)\n",
        f"{METRICS}test_what_is_rolled_back_is_not_counted",
    ),
    covered(
        "a page that misses the database is answered 503",
        "the page for faults looks as well, because faults between middlewares come there alone",
        (
            Change("newsletter_site/database_away.py", "if not is_away(fault):", "if True:"),
            Change(
                "newsletter_site/database_away.py", "if is_away(sys.exc_info()[1]):", "if False:"
            ),
        ),
        f"{FAILS}test_a_session_that_is_ended_in_the_middle_of_a_page_is_the_same",
    ),
    guard(
        "a fault of another kind stays a fault",
        "newsletter_site/database_away.py",
        "return sqlstate in _AWAY or sqlstate.startswith(_NO_CONNECTION)",
        "return True",
        f"{FAILS}test_a_statement_that_took_too_long_stays_a_fault",
    ),
    guard(
        "a scrape reads no mail on request that is over",
        "delivery/queue/books.py",
        'f"AND {NOT_OVER}")',
        '"")',
        f"{STANDING}test_the_mails_on_request_that_are_over_are_not_read_while_one_waits",
    ),
    guard(
        "failed test letters do not hide an issue that stopped",
        "delivery/queue/standing.py",
        "ELSE is_open OR kind = 'newsletter' END",
        "ELSE true END",
        f"{STANDING}test_failed_test_letters_do_not_hide_an_issue_that_stopped",
        f"{STANDING}test_a_mail_on_request_that_was_given_up_has_the_others_read_no_more_either",
    ),
    guard(
        "of many open editions those that are held back are told",
        "delivery/queue/standing.py",
        "ORDER BY is_held_back DESC, is_letter DESC, id DESC",
        "ORDER BY is_letter DESC, id DESC",
        f"{STANDING}test_what_is_held_back_comes_before_the_newest",
    ),
    guard(
        "an errand that nobody goes on any more is told no longer",
        "delivery/queue/errand.py",
        'due_at > clock_timestamp() - interval \'1 hour\')"""',
        'true)"""',
        "tests/delivery/test_errands_that_fail.py::"
        "test_an_errand_that_nobody_goes_on_any_more_is_told_no_longer",
    ),
    guard(
        "the log says why the provider could not be asked",
        "delivery/polling.py",
        "            error.reason,\n",
        "            error,\n",
        "tests/delivery/test_errands_that_fail.py::"
        "test_the_line_in_the_log_says_why_the_provider_could_not_be_asked",
    ),
    guard(
        "a database that was away is told as no fault of pages",
        "newsletter_site/operating/counting.py",
        "UNAVAILABLE if status == 503 else ",
        "",
        f"{METRICS}test_a_503_is_told_apart_from_faults",
    ),
    guard(
        "the first faults of a route are an increase",
        "newsletter_site/operating/exposition.py",
        "        if metric.beside is not None:\n",
        "        if False:\n",
        f"{METRICS}test_the_faults_of_a_route_are_there_before_the_first",
    ),
    guard(
        "there are more threads than pages at once",
        "deploy/gunicorn.conf.py",
        "threads = AT_ONCE + 2\n",
        "threads = AT_ONCE\n",
        LEAVES_ROOM,
    ),
    guard(
        "the proxy redirects no call of a program",
        "deploy/nginx/homing.conf",
        "    location /api/ {\n",
        "    location /no-api/ {\n",
        f"{PROXY}test_a_call_in_the_clear_is_told_so_and_never_redirected",
    ),
    guard(
        "the proxy redirects nobody who unsubscribes with one click",
        "deploy/nginx/homing.conf",
        "    location /unsubscribe/ {",
        "    location /no-unsubscribe/ {",
        f"{PROXY}test_unsubscribing_with_one_click_is_not_redirected",
    ),
    guard(
        "a worker says once that the database is away",
        "delivery/outage.py",
        "            if self._since_s is None:\n",
        "            if True:\n",
        f"{OUTAGE}test_an_outage_is_one_line_when_it_begins_and_one_when_it_is_over",
    ),
    guard(
        "what fails in an outage is the outage, and no fault of its own",
        "delivery/worker.py",
        "logging.DEBUG if self._outage.is_why(fault) else logging.ERROR",
        "logging.ERROR",
        f"{OUTAGE}test_an_outage_is_one_line_when_it_begins_and_one_when_it_is_over",
    ),
    guard(
        "a worker says that the database is back",
        "delivery/outage.py",
        "if self._since_s is not None and _answers():",
        "if False:",
        f"{OUTAGE}test_an_outage_is_one_line_when_it_begins_and_one_when_it_is_over",
    ),
    guard(
        "a line that was cut is no outage",
        "delivery/outage.py",
        "                if _answers():\n",
        "                if False:\n",
        f"{OUTAGE}test_lines_that_are_cut_with_a_database_that_takes_others_are_no_outage",
    ),
    guard(
        "a page that finds no place is not begun",
        "newsletter_site/operating/places.py",
        "        if not self._places.enter():\n",
        "        if False:\n",
        LEAVES_ROOM,
    ),
    guard(
        "where pages are stuck nobody waits for a place",
        "newsletter_site/operating/places.py",
        "lambda: self._free or self.is_stuck, self._patience_s",
        "lambda: self._free, self._patience_s",
        f"{PLACES}test_where_pages_are_stuck_whoever_finds_no_place_is_sent_away_at_once",
    ),
    guard(
        "whoever comes in a rush waits for a place",
        "newsletter_site/operating/places.py",
        "lambda: self._free or self.is_stuck, self._patience_s",
        "lambda: self._free or self.is_stuck, 0",
        f"{PLACES}test_whoever_finds_no_place_waits_for_one",
    ),
    guard(
        "mail on request that stopped is listed for a person",
        "publishing/for_a_person.py",
        "editions = [*open_newsletters(), *held_back_mail_on_request()]",
        "editions = [*open_newsletters()]",
        "tests/publishing/test_attention_from_a_shell.py::"
        "test_mail_on_request_that_stopped_is_listed_and_resumed_by_that_name",
    ),
    guard(
        "counters that go back with a restored database are others",
        "delivery/queue/identity.py",
        "this.database, stored.since)::bytea",
        "this.database)::bytea",
        f"{METRICS}test_counters_of_a_database_that_was_restored_are_others_than_before",
    ),
    guard(
        "a web process that is stopped adds its last counts",
        "deploy/gunicorn.conf.py",
        "    flush_at_the_end()\n",
        "",
        "tests/deployment/test_stopping_the_site.py::test_what_was_counted_last_is_in_the_table",
    ),
    guard(
        "a fault that follows an outage stays a fault",
        "newsletter_site/logs/faults.py",
        "(None if each.__suppress_context__ else each.__context__)",
        "each.__context__",
        f"{FAILS}test_a_fault_that_follows_an_outage_that_was_dealt_with_is_a_fault",
    ),
    guard(
        "who asks by a name that is not the site's is told that",
        "newsletter_site/unknown_host.py",
        "    if not isinstance(exception, DisallowedHost):\n",
        "    if True:\n",
        f"{NAMES}test_a_page_says_that_the_site_has_another_name",
        f"{NAMES}test_the_log_has_one_warning_of_it_beside_the_line_of_the_request",
    ),
    guard(
        "a call by a name that is not the site's is told that",
        "newsletter_site/unknown_host.py",
        "    if request.path_info.startswith(BELOW):\n",
        "    if False:\n",
        f"{NAMES}test_a_call_is_told_that_the_site_has_another_name",
    ),
    guard(
        "a name that is not the site's is a warning and no error",
        "newsletter_site/settings.py",
        '"django.security.DisallowedHost": {"level": "CRITICAL"},',
        "",
        f"{NAMES}test_the_log_has_one_warning_of_it_beside_the_line_of_the_request",
    ),
    guard(
        "what cannot be measured because migrations lack is not called a database that is away",
        "newsletter_site/operating/metrics_view.py",
        "        if verdict.is_well:\n",
        "        if True:\n",
        f"{LACKING}test_where_it_cannot_be_measured_because_migrations_lack_that_is_said",
    ),
    guard(
        "migrations that lack keep nobody from measuring what is there",
        "newsletter_site/operating/metrics_view.py",
        "    missing = migrations.missing(cursor)\n",
        "    missing = migrations.missing(cursor)\n    if missing:\n"
        "        return of_migrations(missing)\n",
        f"{LACKING}test_what_can_be_measured_without_the_migrations_that_lack_is_measured",
    ),
    guard(
        "only migrations that lack are called that",
        "newsletter_site/operating/metrics_view.py",
        "        if verdict.is_well:\n",
        "        if False:\n",
        f"{LACKING}test_what_fails_for_another_reason_is_not_called_a_migration_that_lacks",
    ),
    guard(
        "a shell is told once which migrations lack",
        "newsletter_site/management/commands/health.py",
        "        for reason in verdict.reasons:\n",
        "        for reason in (*verdict.reasons, *verdict.details):\n",
        f"{CHECKS}test_a_shell_is_told_once_which_migration_lacks",
    ),
    guard(
        "a name with a dot before it is that name too, as Django has it",
        "newsletter_site/checks.py",
        "    if not validate_host(host, allowed):\n",
        "    if host not in allowed:\n",
        f"{BEFORE}test_a_name_that_the_site_answers_to_is_not_refused",
    ),
    guard(
        "an IPv6 address of the site stands in brackets, as in requests",
        "newsletter_site/environment.py",
        'return f"[{host}]" if ":" in host else host',
        "return host",
        f"{BEFORE}test_a_name_that_the_site_answers_to_is_not_refused",
        f"{SETTINGS}test_a_site_at_an_ipv6_address_answers_to_it",
    ),
    guard(
        "a blank secret is none",
        "newsletter_site/environment.py",
        'value = self.values[name] if name in self else ""',
        'value = self.values.get(name, "")',
        f"{SETTINGS}test_a_blank_secret_counts_as_unset",
    ),
    guard(
        "an earlier key is one without the blank after its comma",
        "newsletter_site/environment.py",
        "[part.strip() for part in self.text(",
        "[part for part in self.text(",
        f"{SETTINGS}test_a_right_value_becomes_what_it_means",
    ),
    guard(
        "no form is told to wait for longer than PostgreSQL can be told",
        "newsletter_site/settings.py",
        '"IDEMPOTENCY_WAIT_S", 10, least=0.05, most=300)',
        '"IDEMPOTENCY_WAIT_S", 10, least=0.05)',
        f"{SETTINGS}test_a_wrong_value_is_answered_with_one_sentence",
    ),
    guard(
        "what is asked for by HEAD writes no warning",
        "newsletter_site/wsgi.py",
        "no_body_for_head(whole_bodies(forms_in_utf8(get_wsgi_application())))",
        "whole_bodies(forms_in_utf8(get_wsgi_application()))",
        f"{BY_HEAD}test_what_is_asked_for_by_head_has_its_length_and_writes_no_warning",
    ),
    guard(
        "an answer to HEAD comes to its end",
        "newsletter_site/no_body_for_head.py",
        "            close()\n",
        "            pass\n",
        f"{BY_HEAD}test_the_answer_is_closed_and_nothing_of_its_body_is_made",
    ),
    guard(
        "nobody is believed about https while no proxy is trusted",
        "deploy/gunicorn.conf.py",
        "secure_scheme_headers: dict[str, str] = {}\n",
        "",
        "tests/deployment/test_who_is_believed_about_https.py::"
        "test_without_a_trusted_proxy_nobody_is_believed",
    ),
    guard(
        "nobody moves the site to another path by a header",
        "deploy/gunicorn.conf.py",
        'forwarder_headers = ""\n',
        "",
        "tests/deployment/test_who_is_believed_about_https.py::"
        "test_nobody_moves_the_site_to_another_path",
    ),
]
