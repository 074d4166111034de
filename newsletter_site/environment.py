"""
How one variable of the environment becomes one value.

A wrong value stops the program with one sentence that names the variable, says what was found
and what is expected. Only `settings.py` calls this; nothing else reads the environment.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from email.utils import getaddresses
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off", ""}
A_YEAR_S = 31_536_000.0


def stop(name: str, found: str, expected: str) -> NoReturn:
    """End the program with one sentence about the variable `name`."""
    sys.exit(f"homing: {name} is {found}; expected {expected}.")


class Environment:
    """Typed reading of environment variables. `values` is normally `os.environ`."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values

    def __contains__(self, name: str) -> bool:
        return bool(self.values.get(name, "").strip())

    def text(self, name: str, default: str = "") -> str:
        """The value without surrounding blanks; the default when unset or blank."""
        return self.values.get(name, "").strip() or default

    def required(self, name: str, reason: str) -> str:
        """The value; stops the program with `reason` when unset or blank."""
        if name not in self:
            stop(name, "not set", reason)
        return self.text(name)

    def secret(self, name: str) -> str:
        """
        The value as it stands, or "" when unset or blank. The refusal of what no header can carry
        does not repeat it.
        """
        value = self.values[name] if name in self else ""
        if not re.fullmatch(r"[ -~]*", value):
            stop(name, "a text with other characters (not shown)", "printable ASCII characters")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """A yes or no: `1/true/yes/on` or `0/false/no/off`."""
        if name not in self:
            return default
        word = self.text(name).lower()
        if word in TRUE_WORDS:
            return True
        if word in FALSE_WORDS:
            return False
        stop(name, repr(self.text(name)), "one of 1, true, yes, on, 0, false, no, off")

    def whole(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number from `least` to `most`."""
        found = self.text(name, str(default))
        if not re.fullmatch(r"[0-9]{1,9}", found) or not least <= int(found) <= most:
            stop(name, repr(found), f"a whole number from {least} to {most}")
        return int(found)

    def optional_whole(self, name: str, *, least: int, most: int) -> int | None:
        """A whole number from `least` to `most`, or None when unset."""
        return self.whole(name, least, least=least, most=most) if name in self else None

    def texts(self, name: str) -> list[str]:
        """What stands between the commas, without surrounding blanks and without empty parts."""
        return [part.strip() for part in self.text(name).split(",") if part.strip()]

    def seconds(
        self, name: str, default: float, *, least: float = 0.0, most: float = A_YEAR_S
    ) -> float:
        """A number of seconds from `least` to `most`, fractions allowed."""
        return self._seconds(name, self.text(name, str(default)), least, most)

    def seconds_list(self, name: str, default: str) -> tuple[float, ...]:
        """Comma-separated numbers of seconds, each later than the one before."""
        found = self.text(name, default)
        parts = [part.strip() for part in found.split(",")]
        times = tuple(self._seconds(name, part, 0.0, A_YEAR_S) for part in parts)
        if list(times) != sorted(set(times)):
            stop(name, repr(found), "seconds that grow, such as 60,300,900")
        return times

    def _seconds(self, name: str, found: str, least: float, most: float) -> float:
        if not re.fullmatch(r"[0-9]{1,8}(\.[0-9]{1,6})?", found) or not (
            least <= float(found) <= most
        ):
            bounds = [f"at least {least:g}"] if least else []
            if most < A_YEAR_S:
                bounds.append(f"at most {most:g}")
            more = f" of {' and '.join(bounds)}" if bounds else ""
            stop(name, repr(found), f"a number of seconds{more}, such as 30 or 0.5")
        return float(found)

    def percent(self, name: str, default: float) -> float:
        """A number above 0 and at most 100."""
        found = self.text(name, str(default))
        if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", found) or not 0 < float(found) <= 100:
            stop(name, repr(found), "per cent, above 0 and at most 100, such as 4 or 0.1")
        return float(found)

    def optional_rate(self, name: str) -> float | None:
        """A number above zero, or None when unset."""
        if name not in self:
            return None
        found = self.text(name)
        if not re.fullmatch(r"[0-9]{1,8}(\.[0-9]{1,6})?", found) or float(found) <= 0:
            stop(name, repr(found), "messages per second above 0, or unset for no ceiling")
        return float(found)

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        """One of `choices`."""
        found = self.text(name, default)
        if found not in choices:
            stop(name, repr(found), " or ".join(choices))
        return found

    def matching(self, name: str, default: str, fits: Callable[[str], bool], expected: str) -> str:
        """A text that `fits`; otherwise the program stops saying what is `expected`."""
        found = self.text(name, default)
        if not fits(found):
            stop(name, repr(found), expected)
        return found

    def url(self, name: str, default: str) -> str:
        """An http or https address without a slash at its end."""
        found = self.text(name, default)
        if "@" in found:
            # Looked at first, because every other refusal repeats what it found.
            stop(name, "an address with a user or password in it", "one without")
        try:
            parts = urlsplit(found)
            readable = parts.port != 0 and bool(re.fullmatch(r"[!-~]+", found))
        except ValueError:
            readable = False
        if (
            not readable
            or parts.scheme not in {"http", "https"}
            or not parts.hostname
            or parts.query
            or parts.fragment
        ):
            stop(name, repr(found), "an address such as https://letter.example.org")
        return found.rstrip("/")

    def folder(self, name: str, default: Path) -> Path:
        """A folder as an absolute path; `~` is expanded."""
        found = self.text(name, str(default))
        try:
            return Path(found).expanduser().absolute()
        except RuntimeError:
            stop(name, repr(found), "the path of a folder; there is no such user")


def host_of(address: str) -> str:
    """The host of an address as Django finds it in a request: an IPv6 one in brackets."""
    host = (urlsplit(address).hostname or "").removesuffix(".")
    return f"[{host}]" if ":" in host else host


def is_mailbox(value: str) -> bool:
    """Whether the text is one address that Postmark takes, with or without a display name."""
    found = getaddresses([value])
    return (
        len(found) == 1
        and value.isprintable()
        and bool(re.fullmatch(r"[!-~]+@[A-Za-z0-9.-]+\.[A-Za-z0-9-]+", found[0][1]))
        and found[0][1].count("@") == 1
    )
