"""Guards of scheduled issues: started once, on time, by the right database."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a scheduled issue is started once
    _scheduled: pk=edition, «control="scheduled",» unreconciled_since=None
    test_two_workers_start_it_once
    test_started_issue_cannot_be_called_back
the start and its audience are one transaction
    _start_in_time: «with short_transaction → from django.db import connection¶with
        connection.cursor»
    test_worker_killed_before_enqueuing_leaves_the_issue_scheduled
nothing starts automatically before its time
    why: the search for due issues uses the same condition as their start
    IS_DUE: «AND scheduled_for <= clock_timestamp()»
    begin: Q() if immediately else Q(«scheduled_for__lte=Now()»)
    test_before_its_time_it_is_frozen_without_audience
another database starts, cancels and moves nothing
    _scheduled: filter(«is_known_database,» pk=edition
    test_a_scheduled_issue_does_not_start_in_another_database
    test_a_scheduled_issue_cannot_be_moved_after_a_restore
a scheduled issue waits for its reconciliation as well
    _stop_open_editions: «OR control = 'scheduled'» ORDER
    test_issue_sent_after_the_backup_reaches_nobody_twice
    test_a_scheduled_issue_does_not_start_in_another_database
an issue sent after the backup is found as sent
    ReconcileRound._record: «walked.is_scheduled and self._start_sent(walked.edition) → False»
    test_issue_sent_after_the_backup_reaches_nobody_twice
a scheduled correction waits until earlier versions are reconciled
    end_reconciliation: AND «goes_to IN ('reached', 'unreached') → false» AND EXISTS
    test_scheduled_correction_waits_for_earlier_versions_to_be_reconciled[unreached]
an issue that waits for its reconciliation keeps its time
    _scheduled: control="scheduled"«, unreconciled_since=None»
    test_a_scheduled_issue_cannot_be_moved_after_a_restore
a cancelled schedule stays cancelled
    cancel: _leave_schedule(_scheduled(edition), "«cancelled → scheduled»", reason)
    test_an_issue_cancelled_before_its_time_stays_cancelled[call-back]
a key belongs to its time
    PublishOptions.are_met_by: «and is_scheduled_for(edition, self.at)»
    test_the_same_key_for_another_time_is_other_content
no version is published past a waiting one
    version_refusal: if «newest.control == Edition.Control.SCHEDULED → False»:
    test_no_later_version_is_published_while_one_waits
""")
