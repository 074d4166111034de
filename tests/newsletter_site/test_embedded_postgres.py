"""The life of the embedded server: who starts it, who shares it, who stops it, what it survives."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from newsletter_site.embedded_postgres.cluster import cluster_in
from newsletter_site.embedded_postgres.server_user import ServerUser, run_as
from tests.newsletter_site.conftest import Program, is_up, server_pid

Start = Callable[..., Program]


def test_the_first_to_connect_starts_the_server_and_the_last_to_leave_stops_it(
    data_dir: Path, program: Start
) -> None:
    first, second = program(data_dir), program(data_dir)
    assert first.query("SELECT current_database()") == "homing"
    assert second.query("SELECT 1") == 1
    first.end()
    assert second.query("SELECT 2") == 2
    second.end()
    assert not is_up(data_dir)


def test_what_was_written_is_there_after_the_server_was_stopped_and_started(
    data_dir: Path, program: Start
) -> None:
    first = program(data_dir)
    first.ask("sql", text="CREATE TABLE kept AS SELECT 42 AS answer")
    first.end()
    assert program(data_dir).query("SELECT answer FROM kept") == 42


def test_a_program_ended_by_sigterm_leaves_like_any_other(data_dir: Path, program: Start) -> None:
    only = program(data_dir)
    assert only.query("SELECT 1") == 1
    only.process.terminate()
    only.end()
    assert not is_up(data_dir)


def test_a_killed_program_does_not_disturb_the_others_and_is_not_waited_for(
    data_dir: Path, program: Start
) -> None:
    killed, other = program(data_dir), program(data_dir)
    assert killed.query("SELECT 1") == other.query("SELECT 1") == 1
    killed.kill()
    assert other.query("SELECT 2") == 2
    assert program(data_dir).query("SELECT 3") == 3
    other.end()
    assert is_up(data_dir)


def test_a_server_left_by_a_killed_last_program_is_used_and_stopped_by_the_next(
    data_dir: Path, program: Start
) -> None:
    last = program(data_dir)
    assert last.query("SELECT 1") == 1
    pid = server_pid(data_dir)
    last.kill()
    assert is_up(data_dir)
    following = program(data_dir)
    assert following.query("SELECT 2") == 2
    assert server_pid(data_dir) == pid
    following.end()
    assert not is_up(data_dir)


def test_a_killed_server_is_started_by_the_next_connection_with_its_data(
    data_dir: Path, program: Start
) -> None:
    user = program(data_dir, durable=True)
    user.ask("sql", text="CREATE TABLE kept AS SELECT 42 AS answer")
    killed = server_pid(data_dir)
    os.kill(killed, signal.SIGKILL)
    assert program(data_dir, durable=True).query("SELECT answer FROM kept") == 42
    assert server_pid(data_dir) != killed
    # The one who was connected loses that connection, and the next one works.
    assert "error" in user.ask("sql", text="SELECT answer FROM kept")
    assert user.query("SELECT answer FROM kept") == 42


def test_a_user_without_a_connection_finds_the_killed_server_started_by_connecting(
    data_dir: Path, program: Start
) -> None:
    user = program(data_dir, durable=True)
    user.ask("sql", text="CREATE TABLE kept AS SELECT 42 AS answer")
    user.ask("hang_up")
    os.kill(server_pid(data_dir), signal.SIGKILL)
    assert user.query("SELECT answer FROM kept") == 42


def test_a_start_waits_until_the_children_of_a_killed_server_have_gone(
    data_dir: Path, program: Start
) -> None:
    user = program(data_dir, durable=True)
    child = user.query("SELECT pg_backend_pid()")
    following = program(data_dir, durable=True)
    os.kill(child, signal.SIGSTOP)  # A child that cannot go holds the memory of its server.
    try:
        os.kill(server_pid(data_dir), signal.SIGKILL)
        following.tell("sql", text="SELECT 1")
        log = cluster_in(data_dir, durable=False).log
        while "shared memory block" not in log.read_text():
            assert following.process.poll() is None
    finally:
        os.kill(child, signal.SIGCONT)
    assert following.hear() == [1]


def test_a_server_killed_with_all_its_users_starts_again(data_dir: Path, program: Start) -> None:
    user = program(data_dir, durable=True)
    user.ask("sql", text="CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(server_pid(data_dir), signal.SIGKILL)
    user.kill()
    assert program(data_dir, durable=True).query("SELECT answer FROM kept") == 42


def test_six_programs_that_race_for_the_first_start_are_all_served_by_one_server(
    data_dir: Path, program: Start
) -> None:
    racers = [program(data_dir) for _ in range(6)]
    for racer in racers:
        racer.tell("sql", text="SELECT pg_postmaster_start_time()::text")
    assert len({racer.hear()[0] for racer in racers}) == 1
    for racer in racers:
        racer.end()
    assert not is_up(data_dir)


def test_one_who_arrives_while_the_last_is_leaving_is_always_served(
    data_dir: Path, program: Start
) -> None:
    comers_and_goers = [program(data_dir) for _ in range(3)]
    for one in comers_and_goers:
        one.tell("cycle", times=8)
    for one in comers_and_goers:
        assert one.hear() == [[number] for number in range(8)]
        one.end()
    assert not is_up(data_dir)


def test_the_end_of_a_forked_child_does_not_stop_its_parents_server(
    data_dir: Path, program: Start
) -> None:
    parent = program(data_dir)
    started = parent.query("SELECT pg_postmaster_start_time()::text")
    assert parent.ask("fork") == 0
    other = program(data_dir)
    assert other.query("SELECT pg_postmaster_start_time()::text") == started
    other.end()
    assert parent.query("SELECT pg_postmaster_start_time()::text") == started


def test_a_forked_child_that_never_connects_does_not_keep_the_server_up(
    data_dir: Path, program: Start
) -> None:
    parent = program(data_dir)
    assert parent.query("SELECT 1") == 1
    child = parent.ask("fork_and_stay")
    try:
        parent.end()
        assert not is_up(data_dir)
    finally:
        os.kill(child, signal.SIGKILL)


def test_the_server_has_a_parent_that_reaps_it_where_process_1_does_not(
    data_dir: Path, program: Start
) -> None:
    assert program(data_dir).query("SELECT 1") == 1
    us = ServerUser(os.geteuid(), os.getegid())
    parent = run_as(us, "ps", "-o", "ppid=", "-p", str(server_pid(data_dir))).stdout.strip()
    assert run_as(us, "ps", "-o", "args=", "-p", parent).stdout.startswith("/bin/sh")


def test_ctrl_c_in_the_terminal_does_not_reach_the_server(data_dir: Path, program: Start) -> None:
    user = program(data_dir)
    assert user.query("SELECT 1") == 1
    pid = server_pid(data_dir)
    assert os.getpgid(pid) != os.getpgid(user.process.pid)
    assert os.getsid(pid) != os.getsid(user.process.pid)


def test_a_data_directory_that_was_made_half_is_made_anew(data_dir: Path, program: Start) -> None:
    cluster = cluster_in(data_dir, durable=False)
    (cluster.home / "data.new").mkdir()
    (cluster.home / "data.new" / "PG_VERSION").write_text("half\n")
    assert program(data_dir).query("SELECT 1") == 1


def test_a_server_that_cannot_start_is_an_error_with_its_own_last_words(
    data_dir: Path, program: Start
) -> None:
    made = program(data_dir)
    assert made.query("SELECT 1") == 1
    made.end()
    cluster = cluster_in(data_dir, durable=False)
    (cluster.data / "postgresql.conf").write_text("no_such_setting = 1\n")
    said = program(data_dir).ask("sql", text="SELECT 1")["error"]
    assert str(cluster.home) in said
    assert "no_such_setting" in said


def test_a_server_of_tests_is_forgetful_and_one_of_the_demo_is_not(
    data_dir: Path, program: Start
) -> None:
    forgetful = program(data_dir)
    assert forgetful.query("SELECT current_setting('fsync')") == "off"
    forgetful.end()
    durable = program(data_dir, durable=True)
    assert durable.query("SELECT current_setting('fsync')") == "on"
    assert durable.query("SELECT current_setting('synchronous_commit')") == "on"


def test_text_is_utf_8_and_its_case_folds_beyond_ascii(data_dir: Path, program: Start) -> None:
    user = program(data_dir)
    assert user.query("SELECT current_setting('server_encoding')") == "UTF8"
    assert user.query("SELECT lower('ÀÉŽ')") == "àéž"


def test_dbshell_opens_the_same_database(data_dir: Path, program: Start) -> None:
    user = program(data_dir)
    user.ask("shell", text="SELECT 'this is ' || current_database()")
    assert "this is homing" in user.end()
