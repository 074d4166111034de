"""`manage.py` as a person or a script types it: a process of its own, arguments as bytes."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 60


def typed(database_url: str, *arguments: str | bytes) -> subprocess.CompletedProcess[str]:
    """What came of the command, however it ended."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
