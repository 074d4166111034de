"""A real `manage.py deliver` whose every line is read as it comes, however much it has to say."""

from __future__ import annotations

from pathlib import Path

from tests.faults.watched_process import ROOT, WatchedProcess

# Short enough that what is lost comes back within the test, long enough for a busy machine.
TIMES = {
    "DELIVERY_HTTP_DEADLINE_S": "3",
    "DELIVERY_LEASE_S": "2",
    "DELIVERY_LOOKUP_AFTER_S": "0.5,1,2",
    "DELIVERY_RETRY_BASE_S": "0.1",
    "DELIVERY_RETRY_CAP_S": "1",
    "DELIVERY_BATCH_SIZE": "50",
}


class WatchedWorker(WatchedProcess):
    """One worker process, of the code in `code`. `said` is all that it wrote to stderr."""

    def __init__(
        self,
        database_url: str,
        provider_url: str,
        *options: str,
        code: Path = ROOT,
        **settings: str,
    ) -> None:
        where = {
            "DATABASE_URL": database_url,
            "POSTMARK_BASE_URL": provider_url,
            "POSTMARK_SERVER_TOKEN": "sandbox",
        }
        super().__init__("deliver", *options, code=code, environment=TIMES | where | settings)
