"""Read typed environment variables.

A wrong value ends the program with a sentence that names the variable.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Set
from difflib import get_close_matches
from email.utils import getaddresses
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from delivery.control_characters import strip_invisible

TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off"}
YEAR_S = 31_536_000.0
# If a name is at least this similar to one of our names, it is probably misspelt, such as LOG_LEVL.
# Variables of other programs are less similar to ours.
LIKENESS_OF_TYPOS = 0.85
LOOPBACK = {"127.0.0.1", "[::1]", "localhost"}
NUMBER = r"[0-9]{1,8}(\.[0-9]{1,6})?"
# The schemes of EMAIL_URL, each with the scheme of django-environ that means the same, and with its
# usual port. There, smtps means STARTTLS.
SMTP_SCHEMES = {
    "smtp": ("smtp", 25),
    "submission": ("smtp+tls", 587),
    "smtp+tls": ("smtp+tls", 587),
    "smtps": ("smtp+tls", 587),
    "submissions": ("smtp+ssl", 465),
    "smtp+ssl": ("smtp+ssl", 465),
}
SMTP_SETTINGS = (
    *("EMAIL_HOST", "EMAIL_PORT", "EMAIL_HOST_USER", "EMAIL_HOST_PASSWORD"),
    *("EMAIL_USE_TLS", "EMAIL_USE_SSL"),
)
A_DATABASE = (
    "postgres://user:password@host:5432/name, with %2F for each / in the password or in the folder "
    "of a socket, such as postgres://user@%2Frun%2Fpostgresql/name"
)


def fail(name: str, found: str, expected: str) -> NoReturn:
    """End the program with one sentence about the variable `name`."""
    sys.exit(f"homing: {name} is {found}; expected {expected}.")


class Environment:
    """The variables in `values`. An empty or blank variable counts as unset."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values
        self.names: set[str] = set()  # the names of the variables that were read

    def __contains__(self, name: str) -> bool:
        self.names.add(name)
        return bool(self.values.get(name, "").strip())

    def text(self, name: str, default: str = "") -> str:
        return strip_invisible(self.values[name]) if name in self else default

    def misspelt(self, besides: Set[str]) -> dict[str, str]:
        """Return misspelt variables, each with the name that was probably meant.

        A name counts as misspelt if it is almost the same as one of our names, or if at least three
        of our names begin with its first word. Fewer than three of our names begin with words such
        as LOG and DATABASE, which other programs use too. `besides` are names that
        other parts of Homing read.
        """
        words = Counter(name.partition("_")[0] for name in self.names)
        found = {}
        for name in sorted(set(self.values) - self.names - besides):
            is_of_ours = words[name.partition("_")[0]] >= 3 and "_" in name
            likeness = 0.0 if is_of_ours else LIKENESS_OF_TYPOS
            near = get_close_matches(name.upper(), sorted(self.names), n=1, cutoff=likeness)
            if near and self.values[name].strip():
                found[name] = near[0]
        return found

    def require(self, expected: Mapping[str, str], *, besides: str) -> None:
        """Exit with one sentence that names all unset variables.

        The sentence also names `besides` if it is unset. If only `besides` is unset, the program
        continues.
        """
        missing = [name for name in expected if name not in self]
        if missing and besides not in self:
            missing.append(besides)
        if len(missing) > 1:
            names = f"{', '.join(missing[:-1])} and {missing[-1]}"
            sys.exit(f"homing: {names} are not set; expected all of them, because DEBUG is off.")
        for name in missing:
            fail(name, "not set", expected[name])

    def require_together(self, names: tuple[str, ...], *, besides: tuple[str, ...]) -> None:
        """Exit if only some of `names` are set, or one of `besides` without them."""
        given = [name for name in (*names, *besides) if name in self]
        for name in names if given else ():
            if name not in self:
                fail(name, "not set", f"a value, because {given[0]} is set")

    def secret(self, name: str) -> str:
        """Return a secret with its spaces, or "" if unset. No error shows the secret."""
        value = self.values[name] if name in self else ""
        if not re.fullmatch(r"[ -~]*", value):
            fail(name, "not printable ASCII (value hidden)", "printable ASCII characters")
        return value

    def flag(self, name: str, default: bool) -> bool:
        word = self.text(name, "on" if default else "off").lower()
        if word not in TRUE_WORDS | FALSE_WORDS:
            fail(name, repr(self.text(name)), "one of 1, true, yes, on, 0, false, no, off")
        return word in TRUE_WORDS

    def whole(self, name: str, default: int, *, least: int, most: int) -> int:
        def fits(text: str) -> bool:
            return bool(re.fullmatch(r"[0-9]{1,9}", text)) and least <= int(text) <= most

        expected = f"a whole number from {least} to {most}"
        return int(self.matching(name, str(default), fits, expected))

    def optional_whole(self, name: str, *, least: int, most: int) -> int | None:
        return self.whole(name, least, least=least, most=most) if name in self else None

    def texts(self, name: str) -> list[str]:
        """Return comma-separated values, without surrounding spaces and empty parts."""
        return [part.strip() for part in self.text(name).split(",") if part.strip()]

    def seconds(
        self, name: str, default: float, *, least: float = 0.0, most: float = YEAR_S
    ) -> float:
        """Return a number of seconds from `least` to `most`, with fractions."""
        return _seconds(name, self.text(name, str(default)), least, most)

    def seconds_list(self, name: str, default: str) -> tuple[float, ...]:
        """Return comma-separated seconds, each greater than the previous one."""
        found = self.text(name, default)
        times = tuple(_seconds(name, part.strip()) for part in found.split(","))
        if list(times) != sorted(set(times)):
            fail(name, repr(found), "increasing seconds, such as 60,300,900")
        return times

    def percent(self, name: str, default: float) -> float:
        expected = "a percentage above 0 and at most 100, such as 4 or 0.1"
        found = self.matching(name, str(default), NUMBER, expected)
        if not 0 < float(found) <= 100:
            fail(name, repr(found), expected)
        return float(found)

    def optional_rate(self, name: str) -> float | None:
        positive = rf"(?=.*[1-9]){NUMBER}"
        expected = "messages per second above 0, or unset for no limit"
        return float(self.matching(name, "", positive, expected)) if name in self else None

    def choice(self, name: str, default: str, choices: tuple[str, ...], expected: str = "") -> str:
        expected = expected or " or ".join(choices)
        return self.matching(name, default, choices.__contains__, expected)

    def matching(
        self, name: str, default: str, fits: str | Callable[[str], object], expected: str
    ) -> str:
        """Return a text that matches a regular expression or that a function accepts."""
        found = self.text(name, default)
        if not (re.fullmatch(fits, found) if isinstance(fits, str) else fits(found)):
            fail(name, repr(found), expected)
        return found

    def url(self, name: str, default: str) -> str:
        """Return an http or https URL without a slash at its end."""
        if "@" in self.text(name, default):
            # Check for a password first, because the messages of the other errors show the value.
            fail(name, "an address with a user or password", "an address without them")
        return self.matching(
            name, default, is_url, "an address such as https://letter.example.org"
        ).rstrip("/")

    def smtp_server(self, name: str) -> dict[str, Any]:
        """Return Django's settings of the SMTP server at an address, empty if it is unset.

        No error message shows the address, because the address may contain a password.
        """
        found = dict.fromkeys(SMTP_SETTINGS, "") | {"EMAIL_PORT": 0}
        if name not in self:
            return found
        scheme, separator, rest = self.text(name).partition("://")
        expected = (
            "submission://user:password@smtp.example.org:587, or the scheme submissions (TLS from "
            "the first byte) or smtp (without TLS), with %2F for each / in the password"
        )
        if not separator or scheme not in SMTP_SCHEMES:
            fail(name, "not an SMTP address (value hidden)", expected)
        read_as, port = SMTP_SCHEMES[scheme]
        try:
            read = environ.Env.email_url_config(f"{read_as}://{rest}")  # type: ignore[no-untyped-call]
        except (ImproperlyConfigured, ValueError, KeyError):
            fail(name, "not readable (value hidden)", expected)
        if not read["EMAIL_HOST"] or read["EMAIL_FILE_PATH"]:
            fail(name, "an address without a host, or with a path (value hidden)", expected)
        return {key: read.get(key) or default for key, default in found.items()} | {
            "EMAIL_PORT": read["EMAIL_PORT"] or port
        }

    def of_service(self, service: str) -> dict[str, Any]:
        """Return Anymail's settings for a service, by their names without ANYMAIL_.

        `true` and `false` are flags, and a value in braces is JSON. No error shows a value.
        """
        prefix, found = f"ANYMAIL_{service.upper()}_", {}
        for name in sorted(name for name in self.values if service and name.startswith(prefix)):
            text = self.secret(name).strip()
            value: Any = {"true": True, "false": False}.get(text.lower(), text)
            if text.startswith("{") or (text and name.endswith("_PARAMS")):
                try:
                    value = json.loads(text)
                except ValueError:
                    value = None
                if not isinstance(value, dict):
                    fail(name, "not JSON (value hidden)", 'an object such as {"region_name": "…"}')
            if text:
                found[name.removeprefix("ANYMAIL_")] = value
        return found

    def database(self, name: str) -> dict[str, Any]:
        """Return Django's settings of the PostgreSQL database at an address.

        No error message shows the address, because the address may contain a password.
        """
        address = self.text(name)
        if not address.startswith(("postgres://", "postgresql://")):
            fail(name, "not a PostgreSQL address", A_DATABASE)
        try:
            parts = urlsplit(address)
            found: dict[str, Any] = environ.Env.db_url_config(address)  # type: ignore[no-untyped-call]
        except (ImproperlyConfigured, ValueError, KeyError):
            parts, found = None, {}
        # If a slash in the password is not written as %2F, the URL's path begins inside the
        # password.
        if re.fullmatch(r"\w+://[^@?#]*/[^?#]*@.*", address) or (parts and "@" in parts.path):
            fail(name, "an address with a / before its @ (value hidden)", A_DATABASE)
        if parts is None:
            fail(name, "not readable (value hidden)", A_DATABASE)
        if not found["NAME"] and not found.get("OPTIONS", {}).get("service"):
            fail(name, "an address without a database name (value hidden)", A_DATABASE)
        if "%" in found["HOST"]:
            # Read the host from `netloc`, because `parts.hostname` is in lower case.
            host = parts.netloc.rpartition("@")[2].partition(":")[0]
            found["HOST"] = unquote(host)
        return found

    def folder(self, name: str, default: Path) -> Path:
        """Return the absolute path of a folder. `~` is expanded."""
        found = self.text(name, str(default))
        try:
            return Path(found).expanduser().absolute()
        except RuntimeError:
            fail(name, repr(found), "the path of a folder of an existing user")


def secrets_in(values: Mapping[str, Any]) -> list[str]:
    """Return the values whose names say that they are secret, at every depth."""
    nested = [
        one for value in values.values() if isinstance(value, dict) for one in secrets_in(value)
    ]
    named = [
        value
        for name, value in values.items()
        if isinstance(value, str) and re.search(r"(?i)key|secret|token|password", name)
    ]
    return named + nested


def _seconds(name: str, found: str, least: float = 0.0, most: float = YEAR_S) -> float:
    if not re.fullmatch(NUMBER, found) or not least <= float(found) <= most:
        bounds = [f"at least {least:g}"] if least else []
        if most < YEAR_S:
            bounds.append(f"at most {most:g}")
        more = f" of {' and '.join(bounds)}" if bounds else ""
        fail(name, repr(found), f"a number of seconds{more}, such as 30 or 0.5")
    return float(found)


def is_url(value: str) -> bool:
    """Return whether the text is an http or https URL without query and fragment."""
    try:
        parts = urlsplit(value)
        is_complete = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_complete and bool(re.fullmatch(r"[!-~]+", value)) and not parts.query + parts.fragment


def host_of(url: str) -> str:
    """Return the host of a URL in Django's form, with IPv6 addresses in brackets."""
    host = (urlsplit(url).hostname or "").removesuffix(".")
    return f"[{host}]" if ":" in host else host


def is_mailbox(value: str) -> bool:
    """Return whether the text is one mail address, with or without a name."""
    found = getaddresses([value])
    return (
        len(found) == 1
        and value.isprintable()
        and bool(re.fullmatch(r"[!-~]+@[A-Za-z0-9.-]+\.[A-Za-z0-9-]+", found[0][1]))
        and found[0][1].count("@") == 1
    )
