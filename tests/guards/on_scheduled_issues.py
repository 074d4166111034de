"""Guards of issues that wait for their time: started once, then, and by a database that knows."""

from __future__ import annotations

from tests.guards.guard import Change, covered, guard

SCHEDULED = "delivery/queue/scheduled.py"
STARTING = "publishing/starting.py"
PUBLISH = "publishing/publish.py"
READING = "publishing/scheduling.py"
IDENTITY = "delivery/queue/identity.py"

ISSUES = "tests/publishing/test_scheduled_issues.py::"
TIMES = "tests/publishing/test_scheduling.py::"
RESTORED = (
    "tests/publishing/test_scheduled_issues_after_a_restore.py::"
    "test_what_went_out_after_the_backup_goes_to_nobody_twice"
)
ANOTHER = f"{ISSUES}test_in_a_database_that_is_another_it_does_not_start"
OFF = f"{ISSUES}test_it_is_called_off_before_its_time_and_stays_so"

GUARDS = [
    guard(
        "what waits for its time is started once",
        SCHEDULED,
        "WHERE id = %(edition)s AND control = 'scheduled' AND {guard}",
        "WHERE id = %(edition)s AND {guard}",
        f"{ISSUES}test_two_workers_start_it_once",
    ),
    guard(
        "a time beside now is asked about",
        "publishing/when_form.py",
        'if found.get("at"):',
        "if False:",
        f"{TIMES}test_a_time_beside_now_is_asked_about_and_not_passed_over",
    ),
    guard(
        "the start and its audience are one transaction",
        STARTING,
        "    with short_transaction() as cursor:\n"
        "        begun = scheduled.begin(cursor, edition)\n",
        "    from django.db import connection\n"
        "    with connection.cursor() as cursor:\n"
        "        begun = scheduled.begin(cursor, edition)\n",
        f"{ISSUES}test_killed_between_its_start_and_its_audience_nothing_has_happened",
    ),
    covered(
        "nothing starts by itself before its time",
        "what is due is looked for by the same rule as its start is guarded by",
        (
            Change(SCHEDULED, '             AND scheduled_for <= clock_timestamp()"""', '"""'),
            Change(
                SCHEDULED,
                "AND (%(at_once)s OR scheduled_for <= clock_timestamp())",
                "AND (%(at_once)s OR true)",
            ),
        ),
        f"{ISSUES}test_before_its_time_it_is_frozen_and_nobody_is_in_its_audience",
    ),
    guard(
        "a database that is another starts nothing",
        SCHEDULED,
        "unreconciled_since IS NULL AND {IS_THE_KNOWN_DATABASE}\n            AND (%(at_once)s",
        "unreconciled_since IS NULL AND (%(at_once)s",
        ANOTHER,
    ),
    guard(
        "a database that is another calls nothing off",
        SCHEDULED,
        "              AND {IS_THE_KNOWN_DATABASE}\n",
        "",
        ANOTHER,
    ),
    guard(
        "what waits for its time waits for its reconciliation as well",
        IDENTITY,
        "           OR control = 'scheduled'\n",
        "",
        RESTORED,
        ANOTHER,
    ),
    guard(
        "what went out after the backup is found to have",
        "delivery/reconciliation_round.py",
        "if walked.is_scheduled and starting.registered().start_what_went_out(walked.edition):",
        "if False:",
        RESTORED,
    ),
    guard(
        "what is very late waits for a person",
        STARTING,
        "    if paused:\n",
        "    if False:\n",
        f"{ISSUES}test_too_late_it_is_published_but_waits_for_a_person",
    ),
    guard(
        "what was called off stays so",
        SCHEDULED,
        "SET control = 'cancelled', control_reason = %s",
        "SET control_reason = %s",
        f"{OFF}[call-back]",
    ),
    guard(
        "what has started is not called off",
        SCHEDULED,
        "WHERE id = %s AND control = 'scheduled' AND unreconciled_since IS NULL\n",
        "WHERE id = %s AND unreconciled_since IS NULL\n",
        f"{ISSUES}test_what_was_started_meanwhile_is_not_called_off",
    ),
    guard(
        "a key stands for its moment",
        PUBLISH,
        "            and is_for(edition, self.at)\n",
        "",
        f"{ISSUES}test_the_same_key_for_another_time_is_other_content",
    ),
    guard(
        "nothing is published past a version that waits",
        "publishing/versions.py",
        "    if newest.control == Edition.Control.SCHEDULED:\n",
        "    if False:\n",
        f"{ISSUES}test_nothing_is_published_past_a_version_that_waits",
    ),
    guard(
        "nobody reads what has not started",
        "publishing/archive.py",
        "        ~Q(control=Edition.Control.SCHEDULED),\n",
        "",
        f"{ISSUES}test_nobody_reads_it_before_it_has_started[True]",
    ),
    guard(
        "a fault of one keeps no other from its time",
        STARTING,
        "            fault = error\n",
        "            raise\n",
        f"{ISSUES}test_one_that_cannot_start_keeps_no_other_from_its_time",
    ),
    guard(
        "a time over which the clocks go is refused",
        READING,
        "    if first.astimezone(there).replace(tzinfo=None) != said:\n",
        "    if False:\n",
        f"{TIMES}test_a_time_that_does_not_exist_is_refused_with_the_gap_and_the_nearest",
    ),
    guard(
        "of a time that comes twice one is chosen",
        READING,
        '    if which == "second":\n        return choices[1]\n',
        "    if True:\n        return choices[1]\n",
        f"{TIMES}test_a_time_that_comes_twice_is_refused_until_one_is_chosen",
    ),
]
