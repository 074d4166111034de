"""Real `manage.py` commands in separate processes, on a test's database."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class Installation:
    """Homing with the code in `code`, on one database.

    `environment` names the database, with `DATABASE_URL` or `HOMING_DATA_DIR`.
    """

    def __init__(self, provider_url: str, *, code: Path = ROOT, **environment: str) -> None:
        self._code = code
        self._environment = {
            **{name: value for name, value in os.environ.items() if name != "DATABASE_URL"},
            "POSTMARK_BASE_URL": provider_url,
            "POSTMARK_SERVER_TOKEN": "sandbox",
            "PYTHONUNBUFFERED": "1",
            **environment,
        }

    def run(
        self, *command: str, exit_code: int = 0, typed: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run one command to its end, with `typed` as its input.

        The test fails if the command does not end as expected.
        """
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=self._code,
            env=self._environment,
            input=typed,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == exit_code, f"{command}: {done.stdout}\n{done.stderr}"
        return done

    def last_line(self, *command: str, exit_code: int = 0) -> dict[str, Any]:
        """Return the JSON that a command prints last."""
        printed = self.run(*command, exit_code=exit_code).stdout.strip().splitlines()[-1]
        answer = json.loads(printed)
        assert isinstance(answer, dict)
        return answer
