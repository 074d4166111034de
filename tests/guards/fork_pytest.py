"""Run pytest repeatedly, each time in a fork that has not imported Homing.

A run needs a process that has not imported the product yet, because each run takes out another
guard. Importing libraries such as Django is the slowest part of the start, so this process imports
the libraries once and forks for each run. Requests come on stdin, one line of JSON each.
"""

import contextlib
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

# None of these modules reads settings when it is imported.
IMPORTED_ONCE = (
    *("django.core.management", "django.core.serializers.json", "django.db.models", "django.forms"),
    *("django.db.migrations.executor", "django.template.engine", "django.test", "django.urls"),
    *("django.contrib.postgres.indexes", "django.views.generic", "django.views.decorators.csrf"),
    *("asyncio", "attr", "email_validator", "html.parser", "http.server", "ijson", "markdown_it"),
    *("orjson", "PIL.Image", "prometheus_client", "psycopg", "pydantic", "requests", "responses"),
    *("rich.console", "sqlparse", "structlog", "unittest.mock"),
)


class Recorder:
    """A plugin of pytest that records the result of each test."""

    def __init__(self) -> None:
        self.cases: list[tuple[str, str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the call phase of a test, and any other phase that failed."""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.cases.append((report.nodeid, report.when, crash.message if crash else "?"))
        elif report.when == "call" or report.skipped:
            self.cases.append((report.nodeid, "", ""))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a file that cannot be collected."""
        if report.failed:
            last = str(report.longrepr).strip().splitlines()[-1:]
            self.cases.append((report.nodeid, "collection", "".join(last)))


def main() -> None:
    """Run each request from stdin; print its process id, then `ended`."""
    for name in IMPORTED_ONCE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        wish = json.loads(line)
        process = os.fork()
        if not process:
            try:
                _run(wish)
            finally:
                os._exit(1)
        print(process, flush=True)
        os.waitpid(process, 0)
        print("ended", flush=True)


def _run(wish: dict[str, Any]) -> None:
    """Run pytest in this process, write the result to a file, and exit."""
    # Start a separate session, so that child processes can be killed with this process.
    os.setsid()
    said = os.open(wish["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, theirs in ((nothing, 0), (said, 1), (said, 2)):
        os.dup2(ours, theirs)
    os.environ.update(wish["environment"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    recorder = Recorder()
    try:
        pytest.main(wish["arguments"], plugins=[recorder])
    finally:
        # An error after the last test, such as a file that a failed test left open, changes no
        # result. Do not wait for threads that a test left behind.
        sys.stdout.flush()
        Path(wish["result"]).write_text(json.dumps(recorder.cases))
        os._exit(0)


if __name__ == "__main__":
    main()
