#!/usr/bin/env python3
"""Test with other releases of Django than the locked one (docs/testing.md).

    .venv/bin/python .ci/django_versions.py package    idempotency/ alone, on 5.2 and the newest 6.x
    .venv/bin/python .ci/django_versions.py homing     some quick tests, on the newest 6.x

`package` builds the wheel and the source archive, checks what is in them, and runs the tests of the
example with the installed wheel. Django 6 needs Python 3.12 or newer. If this Python is not found,
the part with Django 6 is skipped.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from newsletter_site.embedded_postgres.server_folder import cluster_in  # noqa: E402
from tests.postgres_cluster import OwnCluster  # noqa: E402

OLDEST, NEWEST = "Django~=5.2.0", "Django>=6,<7"
NEWEST_NEEDS = (3, 12)
# Tests of the code that a new release of Django affects most: settings, sign-in, administration,
# middleware, forms, messages, templates and translation. Running all quick tests would take three
# times as long.
TESTS = (
    *("tests/newsletter_site", "tests/idempotency", "tests/translations"),
    *("tests/publishing/publish", "tests/publishing/settings", "tests/publishing/dashboard"),
    *("tests/subscribers/signup", "tests/subscribers/desk", "tests/postmark_sandbox/clients"),
)


def main(arguments: list[str]) -> None:
    """Run `package` or `homing` in temporary folders."""
    parts = {"package": check_package, "homing": check_homing}
    if arguments not in [[name] for name in parts]:
        sys.exit(__doc__)
    # On SIGTERM, leave the block below by an exception, so that its folder is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="homing-django-", dir="/var/tmp") as folder:
        parts[arguments[0]](Path(folder))


def check_package(folder: Path) -> None:
    """Build the package from its tracked files, and test it on both Django releases."""
    source = folder / "source"
    tracked = _output("git", "-c", "safe.directory=*", "ls-files", "idempotency").splitlines()
    for name in tracked:
        copy = source / Path(name).relative_to("idempotency")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy)
    tools = _environment(folder / "tools", sys.executable, "build")
    # The wheel is built from the unpacked source archive, which shows that the archive is complete
    # too.
    _run(tools, "-m", "build", "--outdir", str(folder), str(source))
    [wheel] = folder.glob("*.whl")
    if problems := wrong_files(ZipFile(wheel).namelist(), tracked):
        sys.exit(f"{wheel.name} has other files than expected: {', '.join(problems)}")
    for django, python in ((OLDEST, sys.executable), (NEWEST, newest_python())):
        if python is None:
            continue
        venv = folder / ("newest" if django is NEWEST else "oldest")
        tests = _environment(venv, python, str(wheel), django, "psycopg[binary]")
        _run(tests, "-m", "pip", "list")
        with own_server() as variables:
            command = ("-W", "error", "-m", "django", "test", "--settings=shop.settings")
            _run(tests, *command, cwd=source / "example", **variables)


def wrong_files(packed: list[str], tracked: list[str]) -> list[str]:
    """Return the files that a wheel lacks, and the files that it must not contain."""
    code = {name for name in tracked if re.fullmatch(r"idempotency/(migrations/)?\w+\.py", name)}
    wanted = code | {"idempotency/py.typed"}
    known = re.compile(
        r"[\w.-]+\.dist-info/(METADATA|RECORD|WHEEL|top_level\.txt|licenses/LICENSE)"
    )
    has = {name for name in packed if not known.fullmatch(name)}
    if not any(name.endswith("licenses/LICENSE") for name in packed):
        wanted.add("LICENSE")
    return sorted(wanted ^ has)


def check_homing(folder: Path) -> None:
    """Run the tests of the last commit, with the locked packages except Django."""
    python = newest_python()
    if python is None:
        return
    checkout = folder / "homing"
    _output("git", "-c", "safe.directory=*", "clone", "--quiet", str(ROOT), str(checkout))
    locked = re.split(r"^(?=[a-z0-9])", (ROOT / "requirements/test.txt").read_text(), flags=re.M)
    others = folder / "requirements.txt"
    others.write_text("".join(pin for pin in locked if not pin.startswith("django==")))
    hashed = ("--no-deps", "--require-hashes", "--requirement", str(others))
    tests = _environment(folder / "venv", python, *hashed)
    _run(tests, "-m", "pip", "install", "--quiet", NEWEST)
    _run(tests, "-m", "django", "--version")
    processes = str((os.cpu_count() or 1) + 1)
    spread = ("-n", processes, "--dist", "loadfile", "--no-loadscope-reorder")
    _run(tests, "-m", "pytest", "--quick", "-q", *spread, *TESTS, cwd=checkout)


def newest_python() -> str | None:
    """Return the newest Python that the newest Django accepts; print why if none."""
    names = [shutil.which(f"python3.{minor}") for minor in range(30, NEWEST_NEEDS[1] - 1, -1)]
    pyenv = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python"), reverse=True)
    found = []
    for program in (sys.executable, *filter(None, names), *map(str, pyenv)):
        asked = "import ensurepip, sys, venv; print(*sys.version_info[:3])"
        done = subprocess.run([program, "-c", asked], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found.append((tuple(map(int, done.stdout.split())), program))
    version, program = max(found)
    if version >= NEWEST_NEEDS:
        return program
    print(f"Skipped: {NEWEST} needs Python {'.'.join(map(str, NEWEST_NEEDS))} or newer.")
    return None


@contextmanager
def own_server() -> Iterator[dict[str, str]]:
    """Start PostgreSQL for the block. Yield libpq's variables for this server."""
    server = OwnCluster()
    server.start()
    try:
        named = cluster_in(server.data_dir, durable=False).parameters("postgres")
        yield {f"PG{name.upper()}": named[name] for name in ("host", "port", "user")}
    finally:
        server.end()


def _environment(folder: Path, python: str, *packages: str) -> str:
    """Create an environment with these packages. Return its Python."""
    _run(python, "-m", "venv", str(folder))
    made = str(folder / "bin" / "python")
    _run(made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return made


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def _run(*command: str, cwd: Path = ROOT, **variables: str) -> None:
    """Run a command; if the command fails, end this script with its exit code."""
    sys.stdout.flush()
    environment = os.environ | variables
    if code := subprocess.run(command, cwd=cwd, env=environment, check=False).returncode:
        sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
