"""The releases from which an upgrade may begin, and their last migrations."""

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).resolve().parents[3] / "migrations" / "released.json"


@dataclass(frozen=True, slots=True)
class Release:
    """A release: its name, its commit, and the last migration of each app."""

    name: str
    commit: str
    last_migrations: tuple[tuple[str, str], ...]


def releases(file: Path = FILE) -> tuple[Release, ...]:
    """Return all releases, oldest first."""
    return tuple(
        Release(name, found["commit"], tuple(sorted(found["last_migrations"].items())))
        for name, found in json.loads(file.read_text()).items()
    )
