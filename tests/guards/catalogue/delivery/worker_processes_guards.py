"""Guards of the processes of one worker: no lost call, no shared connection."""

from tests.guards.notation import guards

GUARDS = guards(r"""
children stop when their parent is killed
    ProcessGroup._run_child: try: «os.close(self._writing) → pass»
    test_children_of_a_killed_parent_finish_their_calls
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
""")
