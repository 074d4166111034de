"""Guards of issues that wait for their time: started once, then, and by a database that knows."""

from tests.guards.notation import guards

GUARDS = guards(r"""
what waits for its time is started once
    _leave_schedule: WHERE id = %(edition)s «AND control = 'scheduled'» AND {guard}
    test_two_workers_start_it_once
    test_what_was_started_meanwhile_is_not_called_off
a time beside now is asked about
    ScheduleForm.clean: if «found.get("at") → False»:
    test_a_time_beside_now_is_asked_about_and_not_passed_over
the start and its audience are one transaction
    _start_in_time: «with short_transaction → from django.db import connection¶with
        connection.cursor»
    test_killed_between_its_start_and_its_audience_nothing_has_happened
nothing starts by itself before its time
    why: what is due is looked for by the same rule as its start is guarded by
    IS_DUE: «AND scheduled_for <= clock_timestamp()»
    begin: AND (%(immediately)s OR «scheduled_for <= clock_timestamp() → true»)
    test_before_its_time_it_is_frozen_and_nobody_is_in_its_audience
a database that is another starts nothing
    begin: unreconciled_since IS NULL «AND {IS_THE_KNOWN_DATABASE}» AND (%(immediately)s
    test_in_a_database_that_is_another_it_does_not_start
a database that is another calls nothing off
    cancel: unreconciled_since IS NULL «AND {IS_THE_KNOWN_DATABASE}»
    test_in_a_database_that_is_another_it_does_not_start
what waits for its time waits for its reconciliation as well
    _stop_open_editions: «OR control = 'scheduled'» ORDER
    test_what_went_out_after_the_backup_goes_to_nobody_twice
    test_in_a_database_that_is_another_it_does_not_start
what went out after the backup is found to have
    ReconcileRound._record: «walked.is_scheduled and
        start_scheduled.start_sent_before_restore(walked.edition) → False»
    test_what_went_out_after_the_backup_goes_to_nobody_twice
the provider's memory is compared with when an issue was scheduled
    load_editions: SELECT «CASE control WHEN 'scheduled' THEN control_at ELSE published_at END →
        published_at»
    test_schedule_older_than_postmarks_memory_stays_unreconciled
a scheduled correction waits until earlier versions are reconciled
    end_reconciliation: AND «goes_to IN ('reached', 'unreached') → false» AND EXISTS
    test_scheduled_correction_waits_for_earlier_versions_to_be_reconciled[unreached]
what is very late waits for a person
    _pause_if_late: if «paused → False»:
    test_too_late_it_is_published_but_waits_for_a_person
what has started keeps its time
    move: WHERE id = %(edition)s «AND control = 'scheduled'» AND unreconciled_since IS NULL
    test_started_and_due_issues_keep_their_time
what is due keeps its time, because a worker may be starting it
    move: «AND least(scheduled_for, %(utc)s) > clock_timestamp()»
    test_started_and_due_issues_keep_their_time
a database that is another moves nothing
    move: «AND {IS_THE_KNOWN_DATABASE}»
    test_a_restored_database_moves_nothing
what waits for its reconciliation keeps its time
    move: AND control = 'scheduled' «AND unreconciled_since IS NULL»
    test_a_restored_database_moves_nothing
what was called off stays so
    cancel: _leave_schedule(cursor, edition, "«cancelled → scheduled»", guard
    test_it_is_called_off_before_its_time_and_stays_so[call-back]
a key stands for its moment
    Asked.is_answered_by: «and is_for(edition, self.at)»
    test_the_same_key_for_another_time_is_other_content
nothing is published past a version that waits
    version_refusal: if «newest.control == Edition.Control.SCHEDULED → False»:
    test_nothing_is_published_past_a_version_that_waits
nobody reads what has not started
    public_editions: «~Q(control=Edition.Control.SCHEDULED),»
    test_nobody_reads_it_before_it_has_started[True]
a fault of one keeps no other from its time
    start_due: «fault = error → raise»
    test_one_that_cannot_start_keeps_no_other_from_its_time
a time over which the clocks go is refused
    _the_one_of: if «first.astimezone(there).replace(tzinfo=None) != said → False»:
    test_a_time_that_does_not_exist_is_refused_with_the_gap_and_the_nearest
of a time that comes twice one is chosen
    _the_one_of: if «which == "second" → True»: return choices[1]
    test_a_time_that_comes_twice_is_refused_until_one_is_chosen
""")
