"""Build listmonk from its published source, at a pinned version.

    python -m benchmarks.peers.build_listmonk [--source REPOSITORY]

The result stays in the user's cache folder, outside this repository. listmonk's admin pages are not
built, because sending does not need them. Go and Git must be installed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = "https://github.com/knadh/listmonk"
VERSION, COMMIT = "v6.2.0", "ef0a75872463f10a4848af6c547d1c057405453a"
# Folders where Go may be installed, although PATH does not contain them.
GO_FOLDERS = ("/usr/local/go/bin", "/usr/lib/go/bin", "/opt/homebrew/bin")
# Files that listmonk reads from the folder of its program.
FILES = ("schema.sql", "permissions.json", "config.toml.sample", "queries", "static", "i18n")
# This statement of listmonk is replaced, because the embedded PostgreSQL has no pgcrypto. listmonk
# uses pgcrypto only for passwords, and here it has no users.
EXTENSION = "CREATE EXTENSION IF NOT EXISTS pgcrypto;"
PGCRYPTO_REPLACEMENT = """
    CREATE OR REPLACE FUNCTION gen_salt(text) RETURNS text LANGUAGE sql AS 'SELECT $1';
    CREATE OR REPLACE FUNCTION crypt(text, text) RETURNS text LANGUAGE sql AS 'SELECT $1';
"""
NO_GO = "listmonk is left out, because Go is not installed (https://go.dev/dl/)."
NOT_BUILT = "listmonk is left out, because it could not be built:"


class PeerUnavailableError(Exception):
    """A peer cannot be measured here. The message is a sentence for the table."""


def listmonk_folder(source: str = SOURCE) -> Path:
    """Return the folder of the built listmonk; build it if it is missing.

    If this machine cannot build listmonk, raise PeerUnavailableError.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "homing-benchmarks" / f"listmonk-{VERSION}-{COMMIT[:10]}"
    if (folder / "listmonk").exists():
        return folder
    go = shutil.which("go", path=os.pathsep.join((os.environ.get("PATH", ""), *GO_FOLDERS)))
    if go is None:
        raise PeerUnavailableError(NO_GO)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as new:
        _build(source, Path(new), go)
        built = Path(new) / "built"
        if folder.exists():
            shutil.rmtree(folder)
        built.rename(folder)
    return folder


def _build(source: str, folder: Path, go: str) -> None:
    tree, built = folder / "source", folder / "built"
    _run("git", "clone", "--quiet", "--depth=1", f"--branch={VERSION}", source, str(tree))
    found = _run("git", "-C", str(tree), "rev-parse", "HEAD").strip()
    if found != COMMIT:
        raise PeerUnavailableError(f"{NOT_BUILT} {VERSION} is commit {found}, expected {COMMIT}.")
    built.mkdir()
    flags = f"-s -w -X main.versionString={VERSION}"
    _run(go, "build", "-o", str(built / "listmonk"), f"-ldflags={flags}", "./cmd", cwd=tree)
    for name in FILES:
        there = tree / name
        (shutil.copytree if there.is_dir() else shutil.copy)(there, built / name)
    schema = built / "schema.sql"
    schema.write_text(schema.read_text().replace(EXTENSION, PGCRYPTO_REPLACEMENT))
    # Create the folder of the admin pages, because the program expects it.
    (built / "frontend" / "dist").mkdir(parents=True)


def _run(*command: str, cwd: Path | None = None) -> str:
    # Build without CGO, as listmonk's own releases are built.
    environment = os.environ | {"CGO_ENABLED": "0"}
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise PeerUnavailableError(f"{NOT_BUILT} {error}.") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise PeerUnavailableError(f"{NOT_BUILT} {command[0]} {command[1]}: {last}")
    return done.stdout


def main() -> None:
    """Build listmonk, and print its folder."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.peers.build_listmonk",
        description="Build listmonk in your cache folder, for the benchmarks. Needs Go and Git.",
    )
    options.add_argument("--source", default=SOURCE, help="Git repository (default: %(default)s)")
    chosen = options.parse_args()
    try:
        print(listmonk_folder(chosen.source))
    except PeerUnavailableError as reason:
        sys.exit(str(reason))


if __name__ == "__main__":
    main()
