"""Starting, sharing, stopping and recovering the embedded server."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from newsletter_site.embedded_postgres.server_folder import cluster_in
from newsletter_site.embedded_postgres.server_user import ServerUser, run_as
from tests.newsletter_site.conftest import Program, is_up, server_pid

Start = Callable[..., Program]

pytestmark = pytest.mark.process


def test_the_first_process_starts_the_server_the_last_stops_it(
    data_dir: Path, program: Start
) -> None:
    first, second = program(data_dir), program(data_dir)
    assert first.query("SELECT current_database()") == "homing"
    assert first.query("SELECT current_setting('server_encoding')") == "UTF8"
    assert first.query("SELECT lower('ÀÉŽ')") == "àéž"
    assert first.query("SELECT current_setting('fsync')") == "off"
    second.ask("sql", text="CREATE TABLE kept AS SELECT 42 AS answer")
    second.ask("shell", text="SELECT 'this is ' || current_database()")
    # The server has its own process group, so Ctrl-C in the terminal does not reach it.
    pid = server_pid(data_dir)
    assert os.getpgid(pid) != os.getpgid(first.process.pid)
    assert os.getsid(pid) != os.getsid(first.process.pid)
    us = ServerUser(os.geteuid(), os.getegid())
    parent = run_as(us, "ps", "-o", "ppid=", "-p", str(pid)).stdout.strip()
    assert run_as(us, "ps", "-o", "args=", "-p", parent).stdout.startswith("/bin/sh")
    first.end()
    assert second.query("SELECT 2") == 2
    assert "this is homing" in second.end()
    assert not is_up(data_dir)
    durable = program(data_dir, durable=True)
    assert durable.query("SELECT answer FROM kept") == 42
    assert durable.query("SELECT current_setting('fsync')") == "on"
    assert durable.query("SELECT current_setting('synchronous_commit')") == "on"
    durable.process.terminate()
    durable.end()
    assert not is_up(data_dir)


def test_a_killed_program_leaves_the_server_to_the_next(data_dir: Path, program: Start) -> None:
    killed, other = program(data_dir), program(data_dir)
    assert killed.query("SELECT 1") == other.query("SELECT 1") == 1
    pid = server_pid(data_dir)
    killed.kill()
    assert other.query("SELECT 2") == 2
    other.kill()
    assert is_up(data_dir)
    following, another = program(data_dir), program(data_dir)
    assert following.query("SELECT 2") == another.query("SELECT 2") == 2
    assert server_pid(data_dir) == pid
    following.end()
    assert is_up(data_dir)
    another.end()
    assert not is_up(data_dir)


def test_the_next_connection_restarts_a_killed_server(data_dir: Path, program: Start) -> None:
    user = program(data_dir, durable=True)
    user.ask("sql", text="CREATE TABLE kept AS SELECT 42 AS answer")
    killed = server_pid(data_dir)
    os.kill(killed, signal.SIGKILL)
    following = program(data_dir, durable=True)
    assert following.query("SELECT answer FROM kept") == 42
    assert server_pid(data_dir) != killed
    # The connected program loses its connection, and its next connection works.
    assert "error" in user.ask("sql", text="SELECT answer FROM kept")
    assert user.query("SELECT answer FROM kept") == 42
    # A program that has no open connection restarts a killed server too.
    user.ask("hang_up")
    os.kill(server_pid(data_dir), signal.SIGKILL)
    assert user.query("SELECT answer FROM kept") == 42
    os.kill(server_pid(data_dir), signal.SIGKILL)
    user.kill()
    following.kill()
    assert program(data_dir, durable=True).query("SELECT answer FROM kept") == 42


def test_a_start_waits_for_children_of_a_killed_server(data_dir: Path, program: Start) -> None:
    user = program(data_dir, durable=True)
    child = user.query("SELECT pg_backend_pid()")
    following = program(data_dir, durable=True)
    # A child process that cannot end keeps the server's shared memory in use.
    os.kill(child, signal.SIGSTOP)
    try:
        os.kill(server_pid(data_dir), signal.SIGKILL)
        following.send("sql", text="SELECT 1")
        log = cluster_in(data_dir, durable=False).log
        while "shared memory block" not in log.read_text():
            assert following.process.poll() is None
    finally:
        os.kill(child, signal.SIGCONT)
    assert following.receive() == [1]


def test_concurrent_first_starts_share_one_server(data_dir: Path, program: Start) -> None:
    racers = [program(data_dir) for _ in range(4)]
    for racer in racers:
        racer.send("sql", text="SELECT pg_postmaster_start_time()::text")
    assert len({racer.receive()[0] for racer in racers}) == 1
    for racer in racers:
        racer.end()
    assert not is_up(data_dir)


def test_a_process_that_joins_during_a_stop_is_served(data_dir: Path, program: Start) -> None:
    comers_and_goers = [program(data_dir) for _ in range(3)]
    for one in comers_and_goers:
        one.send("cycle", times=4)
    for one in comers_and_goers:
        assert one.receive() == [[number] for number in range(4)]
        one.end()
    assert not is_up(data_dir)


def test_a_forked_child_does_not_count_as_a_user(data_dir: Path, program: Start) -> None:
    parent = program(data_dir)
    started = parent.query("SELECT pg_postmaster_start_time()::text")
    assert parent.ask("fork") == 0
    other = program(data_dir)
    assert other.query("SELECT pg_postmaster_start_time()::text") == started
    other.end()
    assert parent.query("SELECT pg_postmaster_start_time()::text") == started
    child = parent.ask("fork_and_stay")
    try:
        parent.end()
        assert not is_up(data_dir)
    finally:
        os.kill(child, signal.SIGKILL)


def test_half_made_data_is_replaced_and_failures_give_a_reason(
    data_dir: Path, program: Start
) -> None:
    cluster = cluster_in(data_dir, durable=False)
    assert cluster.home == data_dir / f"postgresql-{cluster.binaries.major}"
    (cluster.home / "data.new").mkdir()
    (cluster.home / "data.new" / "PG_VERSION").write_text("half\n")
    made = program(data_dir)
    assert made.query("SELECT 1") == 1
    made.end()
    (cluster.data / "postgresql.conf").write_text("no_such_setting = 1\n")
    error = program(data_dir).ask("sql", text="SELECT 1")["error"]
    assert str(cluster.home) in error
    assert "no_such_setting" in error
