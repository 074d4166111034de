"""Run a real `manage.py deliver`, and read its output as it comes."""

import json
from pathlib import Path
from typing import Any

from tests.faults.processes.watched_process import ROOT, WatchedProcess

# These times are short enough that lost work is recovered within the test, and long enough for a
# busy machine.
TIMES = {
    "DELIVERY_HTTP_DEADLINE_S": "3",
    "DELIVERY_LEASE_S": "2",
    "DELIVERY_LOOKUP_AFTER_S": "0.5,1,2",
    "DELIVERY_RETRY_BASE_S": "0.1",
    "DELIVERY_RETRY_CAP_S": "1",
    "DELIVERY_BATCH_SIZE": "50",
    # Run with normal priority: on a busy machine, a worker with low priority is too slow for these
    # times.
    "DELIVERY_NICENESS": "0",
}


class WorkerProcess(WatchedProcess):
    """One worker that runs the code in `code`. `output` is all of the worker's output."""

    def __init__(
        self,
        database_url: str,
        provider_url: str,
        *options: str,
        code: Path = ROOT,
        **settings: str,
    ) -> None:
        where = {"DATABASE_URL": database_url, "POSTMARK_BASE_URL": provider_url}
        super().__init__(
            *("deliver", *options),
            environment=where | {"POSTMARK_SERVER_TOKEN": "sandbox"} | settings,
            code=code,
            reads_output=True,
        )

    @property
    def pid(self) -> int:
        """Return the worker's process id."""
        return self._process.pid

    def totals(self) -> dict[str, Any]:
        """Return the counts that the worker prints at its end."""
        lines = (json.loads(line) for line in self.output.splitlines() if line.startswith("{"))
        (totals,) = (line for line in lines if "audience" in line)
        return dict(totals)


class WatchedWorker(WorkerProcess):
    """One worker with short leases and deadlines."""

    def __init__(
        self,
        database_url: str,
        provider_url: str,
        *options: str,
        code: Path = ROOT,
        **settings: str,
    ) -> None:
        super().__init__(database_url, provider_url, *options, code=code, **TIMES | settings)
