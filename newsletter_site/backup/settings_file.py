"""Write the settings of this program into a file that shells and systemd can read."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from newsletter_site.backup.backup_file import new_file
from newsletter_site.settings import env


@contextmanager
def settings_file(path: Path, *, replaces: bool) -> Iterator[None]:
    """Write every variable that Homing read, and always SECRET_KEY.

    The file appears when the block ends without an error.
    """
    found = {name: env.values[name] for name in sorted(env.names) if name in env}
    with new_file(path, replaces=replaces) as file:
        file.write(in_lines({"SECRET_KEY": settings.SECRET_KEY} | found).encode())
        yield


def in_lines(variables: Mapping[str, str]) -> str:
    """Return a line NAME="value" for each variable, escaped for shells and systemd."""
    escaped = {name: re.sub(r'(["$`\\])', r"\\\1", v) for name, v in variables.items()}
    return "".join(f'{name}="{value}"\n' for name, value in escaped.items())
