"""Run `manage.py` in its own process, with arguments as bytes."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 60


def typed(
    database_url: str, *arguments: str | bytes, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run the command and return its result, even if the command failed."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=os.environ | settings | {"DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
