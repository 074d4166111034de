"""Small checkouts with the entry script `homing` and empty locks."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).resolve().parent.parent / "homing"
PYTHON = Path(sys.prefix if sys.prefix == sys.base_prefix else sys.base_prefix) / "bin/python3"

# A replacement for manage.py and pytest, which prints its arguments as JSON and exits with code 0.
# With the argument `fail`, the exit code is 3. With `wait`, the program exits when its input ends.
COMMAND = """
import json, os, sys
print(json.dumps({
    "arguments": sys.argv[1:],
    "prefix": sys.prefix,
    "folder": os.getcwd(),
    "data": os.environ.get("HOMING_DATA_DIR"),
}), flush=True)
if sys.argv[1:] == ["fail"]:
    sys.exit(3)
if sys.argv[1:] == ["wait"]:
    sys.stdin.read()
"""


def lay_out(folder: Path) -> Path:
    """Create a checkout with the script, empty locks and the two programs it starts."""
    (folder / "requirements").mkdir(parents=True)
    shutil.copy(SCRIPT, folder / "homing")
    for lock in ("production", "demo", "test"):
        (folder / "requirements" / f"{lock}.txt").write_text(f"# {lock}\n")
    for program in ("manage.py", "pytest.py"):
        (folder / program).write_text(COMMAND)
    return folder


def start(checkout: Path, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start the script with only the environment variables that a login sets."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(checkout / "home")}
    return subprocess.Popen(
        [options.pop("python", PYTHON), checkout / "homing", *arguments],
        env=environment | options.pop("environment", {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def run(checkout: Path, *arguments: str, **options: Any) -> tuple[dict[str, Any], str]:
    """Run the script. Return the command's JSON and the script's own lines."""
    process = start(checkout, *arguments, **options)
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return json.loads(out), errors


def stamp(checkout: Path) -> dict[str, str]:
    """Return the stamp that was written into the finished environment."""
    found: dict[str, str] = json.loads((checkout / ".venv" / "homing.json").read_text())
    return found
