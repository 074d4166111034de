"""The name of this process on log lines."""

import sys
from functools import lru_cache
from pathlib import Path

_ROLE_OF_COMMAND = {"deliver": "worker", "runserver": "web", "serve": "web"}

_given: list[str] = []


def name_this_process(name: str) -> None:
    """Name a process whose arguments do not show its role, such as `web`."""
    _given[:] = [name]


def process_name() -> str:
    """Return `web`, `worker`, or the name of the running command."""
    return _given[0] if _given else name_from(tuple(sys.argv))


@lru_cache(maxsize=8)
def name_from(arguments: tuple[str, ...]) -> str:
    """Return the name of a process that was started with these arguments."""
    program, *rest = arguments or [""]
    if Path(program).name == "manage.py" and rest and not rest[0].startswith("-"):
        return _ROLE_OF_COMMAND.get(rest[0], rest[0])
    return Path(program).stem or "python"
