"""A killed process leaves a list of the calls that it certainly did not send."""

import os
import resource
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from delivery.rules.reason import Reason, ReasonCode
from delivery.worker.unsent_calls import UnsentCalls, find_dead_workers

pytestmark = pytest.mark.process

WORKER, SENT, UNSENT, OTHER = (uuid.uuid4() for _ in range(4))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.HOMING_DATA_DIR = tmp_path
    return tmp_path


def the_file(folder: Path) -> Path:
    (file,) = folder.glob("calls-*/*")
    return file


@contextmanager
def process_that(work: Callable[[UnsentCalls], object]) -> Iterator[None]:
    """Run `work` in a child process, and kill the child at the end of the block."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        work(UnsentCalls(WORKER))
        os.write(theirs, b"!")
        signal.pause()
    try:
        assert os.read(ours, 1) == b"!"
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def makes_calls(calls: UnsentCalls) -> None:
    """Start three calls and wait to be killed. One request is almost complete."""
    for number, attempt in enumerate((SENT, UNSENT, OTHER)):
        calls.entry(number).add(attempt)
    first = calls.entry(0)
    first.add(SENT)
    first.remove()


def test_list_is_read_once_its_process_is_dead(folder: Path) -> None:
    with process_that(makes_calls):
        assert list(find_dead_workers()) == []
    (dead,) = find_dead_workers()
    assert (dead.id, dead.unsent) == (WORKER, {UNSENT, OTHER})
    dead.forget()
    assert list(find_dead_workers()) == []


def test_list_of_another_database_is_left_to_its_workers(folder: Path) -> None:
    with process_that(makes_calls):
        pass
    of_another = the_file(folder).rename(the_file(folder).with_name(f"0-{WORKER.hex}"))
    assert list(find_dead_workers()) == []
    assert of_another.exists()


def test_servers_named_in_the_options_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    # Django's HOST is empty if DATABASE_URL is postgres:///homing?host=/folder.
    monkeypatch.setitem(connection.settings_dict, "HOST", "")
    options = connection.settings_dict["OPTIONS"]
    monkeypatch.setitem(options, "host", "/one")
    with process_that(makes_calls):
        pass
    monkeypatch.setitem(options, "host", "/another")
    assert list(find_dead_workers()) == []
    monkeypatch.setitem(options, "host", "/one")
    assert [dead.id for dead in find_dead_workers()] == [WORKER]


def test_list_of_an_earlier_boot_is_not_believed(folder: Path) -> None:
    with process_that(makes_calls):
        pass
    content = the_file(folder).read_bytes()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip().encode()
    the_file(folder).write_bytes(content.replace(boot, str(uuid.uuid4()).encode()))

    assert list(find_dead_workers()) == []
    assert list(folder.glob("calls-*/*")) == []


@pytest.mark.parametrize("is_missing", [True, False])
def test_without_a_private_folder_nothing_is_listed(
    folder: Path, settings: Any, is_missing: bool
) -> None:
    UnsentCalls(OTHER).close()
    (private,) = folder.iterdir()
    private.chmod(0o777)
    if is_missing:
        settings.HOMING_DATA_DIR = Path("/proc/nobody can make this")

    calls = UnsentCalls(WORKER)
    calls.entry(0).add(UNSENT)
    calls.entry(0).remove()

    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert list(find_dead_workers()) == []
    error = "No such file or directory" if is_missing else "Operation not permitted"
    assert calls.problem == Reason.of(ReasonCode.UNSENT_CALLS_NOT_LISTED, error=error)
    calls.close()


def test_failed_write_is_a_problem_until_one_succeeds(folder: Path) -> None:
    calls = UnsentCalls(WORKER)
    entry = calls.entry(9)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    # Limit the size of files, which has the effect of a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, limit[1]))
    try:
        entry.add(UNSENT)
        problem = calls.problem
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert problem == Reason.of(ReasonCode.UNSENT_CALLS_NOT_LISTED, error="File too large")
    entry.add(UNSENT)
    assert calls.problem is None
    calls.close()


def test_a_finished_worker_leaves_no_file(folder: Path) -> None:
    calls = UnsentCalls(WORKER)
    makes_calls(calls)
    calls.close()
    assert list(folder.glob("calls-*/*")) == []
