"""A worker that starts or stops, and the file for its health check."""

import os
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection

from delivery.tasks import register_background_task
from delivery.worker.worker_process import Worker

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("is_stopped", [True, False])
def test_only_a_stopped_worker_ignores_a_failed_start(is_stopped: bool) -> None:
    worker = Worker(1)
    if is_stopped:
        worker.stop()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE database_identity RENAME TO missing")

    if is_stopped:
        assert worker.run() is False
    else:
        with pytest.raises(DatabaseError):
            worker.run()


def test_only_a_recorded_heartbeat_touches_the_file(tmp_path: Path, settings: Any) -> None:
    file = tmp_path / "heartbeat"
    settings.HEARTBEAT_FILE = str(file)
    worker = Worker(1)
    worker.stop()
    worker.run()
    assert file.exists()

    os.utime(file, (0, 0))
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE worker RENAME TO missing")
    with pytest.raises(DatabaseError):
        Worker(1).run()
    assert file.stat().st_mtime == 0


def test_a_heartbeat_file_that_cannot_be_written_stops_nothing(
    tmp_path: Path, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.HEARTBEAT_FILE = str(tmp_path / "missing" / "heartbeat")
    Worker(1)._beat()
    assert "heartbeat cannot be written (No such file or directory)" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_stops_begins_no_more_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register_background_task, "_short_tasks", {})
    worker = Worker(1)
    began: list[str] = []
    register_background_task.register_task("stops it", worker.stop)
    register_background_task.register_task("comes later", lambda: began.append("a task"))
    assert worker.run() is False
    assert began == []
