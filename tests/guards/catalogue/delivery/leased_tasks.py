"""Guards of leased tasks: one worker at a time, no write without the lease."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a claimed task cannot be claimed by another worker
    claim: free = open_tasks(kind).«filter(_IS_FREE).»select_for_update
    test_a_claimed_task_is_not_claimed_again
two workers never claim one task at once
    claim: filter(_IS_FREE)«.select_for_update(skip_locked=True)»
    test_a_task_that_is_being_claimed_is_skipped
a worker that lost its task changes nothing
    ClaimedTask._row: return tasks«.filter(owner=self._owner, epoch=task.epoch)»
    test_a_worker_that_lost_its_task_changes_nothing
a write without the task stops the work
    ClaimedTask._update: «raise TaskInterruptedError → return»
    test_a_worker_that_lost_its_task_changes_nothing
each claim raises the epoch
    claim: epoch=F("epoch")« + 1»,
    test_a_worker_that_lost_its_task_changes_nothing
a task is not cancelled within a step
    ClaimedTask.hold: «self._renew({})»
    test_cancelling_waits_for_a_step
a process that freezes within a step does not block others forever
    _LIMIT_TRANSACTION: SELECT set_config('«idle_in_transaction_session_timeout →
        application_name»', %s, true)
    test_the_server_ends_a_frozen_step_with_its_lease
a stopping worker gives its task back
    ClaimedTask.heartbeat: if «self._is_stopping() → False»:
    test_a_stopping_worker_leaves_the_task_to_another
a task that kills its workers finally ends
    ClaimedTask.run: if «self.task.claims > self.task.most_claims → False»:
    test_a_task_that_kills_its_workers_ends
a failing task lets the others pass
    ClaimedTask.run: «self.retry_later() → self.release()»
    test_a_failing_task_waits_longer_and_ends
    test_a_failing_change_lets_others_pass_and_ends
a task that fails again and again finally ends
    ClaimedTask.run: elif «self.task.claims >= self.task.most_claims → False»:
    test_a_failing_task_waits_longer_and_ends
""")
