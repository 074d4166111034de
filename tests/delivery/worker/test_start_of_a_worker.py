"""A worker that is stopped while it starts."""

import pytest
from django.db import DatabaseError, connection

from delivery.worker.process import Worker

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
