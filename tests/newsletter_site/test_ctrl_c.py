"""A command that is broken off before it can say something of it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_ctrl_c_while_a_command_begins_is_one_line_and_no_traceback():
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", "raise KeyboardInterrupt"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "Broken off.\n")
