"""The only place for which webhooks there are, and what each of them wants to be told."""

import re
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from postmark_sandbox.http.response import Refused

TRIGGERS = ("Open", "Click", "Delivery", "Bounce", "SpamComplaint", "SubscriptionChange")
# What a trigger takes beside `Enabled`.
OPTIONS = {
    "Open": "PostFirstOpenOnly",
    "Bounce": "IncludeContent",
    "SpamComplaint": "IncludeContent",
}
# Postmark uses 1350 to 1364 for webhooks. Two are known for sure: too many, and not verified.
NOT_FOUND, INVALID, TOO_MANY, NOT_VERIFIED = 1350, 1351, 1359, 1364
MOST_OF_A_STREAM = 10
LONGEST_TEXT = 2000
FOR_ALL, FIRST_ID = 0, 8_100_000
# Of events of one type, lost one after the other: then Postmark stops telling them.
PAUSED_AFTER = 10
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(slots=True)
class Hook:
    """Where events go. `stream` None: those of every stream. `verified`: the types of event that
    it is told; the others wait for a verification. `lost`: how many of a type were lost in a
    row."""

    id: int
    url: str
    stream: str | None = None
    triggers: dict[str, dict[str, bool]] = field(default_factory=dict)
    auth: tuple[str, str] | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)
    verified: set[str] = field(default_factory=set)
    lost: dict[str, int] = field(default_factory=dict)

    def enabled(self) -> list[str]:
        """The types of event that it asks for."""
        return [name for name in TRIGGERS if self.triggers.get(name, {}).get("Enabled")]

    def wants(self, trigger: str, stream: str) -> bool:
        """Whether it is told of such an event now."""
        return trigger in self.verified and self.stream in (None, stream)

    def wants_content(self, trigger: str) -> bool:
        """Whether the source of the mail goes along."""
        return self.triggers.get(trigger, {}).get("IncludeContent", False)

    def sent_headers(self) -> dict[str, str]:
        """Its own headers and its credentials: `HttpAuth`, else those in the URL."""
        parts = urlsplit(self.url)
        pair = self.auth
        if pair is None and parts.username is not None:
            pair = (unquote(parts.username), unquote(parts.password or ""))
        headers = dict(self.headers)
        if pair is not None:
            headers["Authorization"] = f"Basic {b64encode(':'.join(pair).encode()).decode()}"
        return headers

    def described(self) -> dict[str, Any]:
        """The webhook as `GET /webhooks/{id}` shows it."""
        auth = self.auth
        return {
            "ID": self.id,
            "Url": self.url,
            "MessageStream": self.stream,
            "HttpAuth": None if auth is None else {"Username": auth[0], "Password": auth[1]},
            "HttpHeaders": [{"Name": name, "Value": value} for name, value in self.headers],
            "Triggers": {
                name: {"Enabled": False}
                | ({OPTIONS[name]: False} if name in OPTIONS else {})
                | self.triggers.get(name, {})
                for name in TRIGGERS
            },
        }


class Hooks:
    """The webhooks of the server, by id, and beside them one for everything."""

    def __init__(self) -> None:
        self._by_id: dict[int, Hook] = {}
        self._for_all: Hook | None = None
        self._next = FIRST_ID

    def for_all(self, url: str | None) -> None:
        """One webhook is told of everything on every stream, without a verification; None for
        no such webhook."""
        self._for_all = (
            None if url is None else Hook(FOR_ALL, checked_url(url), verified=set(TRIGGERS))
        )

    def next_id(self) -> int:
        """A fresh id; ids are never given twice."""
        self._next += 1
        return self._next

    def check_room(self, hook: Hook) -> None:
        """Postmark's 1359 if the stream of this webhook has as many as it may have."""
        others = [h for h in self._by_id.values() if h.stream == hook.stream and h.id != hook.id]
        if len(others) >= MOST_OF_A_STREAM:
            raise Refused(TOO_MANY, f"A message stream has at most {MOST_OF_A_STREAM} webhooks.")

    def keep(self, hook: Hook) -> None:
        """Adds a webhook or replaces the one with its id, if there is room."""
        self.check_room(hook)
        self._by_id[hook.id] = hook

    def remove(self, key: str) -> Hook:
        """Takes a webhook away."""
        return self._by_id.pop(self.get(key).id)

    def get(self, key: str) -> Hook:
        """The webhook with this id, or a refusal."""
        found = self._by_id.get(int(key)) if key.isascii() and key.isdigit() else None
        if found is None:
            raise Refused(NOT_FOUND, f"The webhook '{key}' was not found.")
        return found

    def of(self, stream: str | None = None) -> list[Hook]:
        """The webhooks of a stream, or all of them; not the one for everything."""
        return [h for h in list(self._by_id.values()) if stream in (None, h.stream)]

    def everyone(self) -> list[Hook]:
        """Every webhook, the one for everything first."""
        return ([self._for_all] if self._for_all is not None else []) + list(self._by_id.values())

    def wanting(self, event: dict[str, Any]) -> list[Hook]:
        """Who is told of this event now."""
        trigger, stream = event["RecordType"], event["MessageStream"]
        return [hook for hook in self.everyone() if hook.wants(trigger, stream)]

    def now(self, number: int) -> Hook | None:
        """The webhook with this id as it is now, None if it is gone."""
        return self._for_all if number == FOR_ALL else self._by_id.get(number)

    def clear(self) -> None:
        """Forgets all but the one for everything."""
        self._by_id.clear()


def checked_url(url: Any) -> str:
    """The URL itself if something can be posted to it."""
    try:
        parts = urlsplit(url) if isinstance(url, str) and len(url) <= LONGEST_TEXT else None
        known = parts and parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known or CONTROL.search(url) or " " in url or not url.isascii():
        raise ValueError(
            "The webhook URL must look like http://user:password@127.0.0.1:8000/path/."
        )
    return str(url)


def read_hook(body: Any, hook: Hook) -> None:
    """Writes the fields of a request to create or edit into a webhook; what the request does not
    name stays. The stream is not among them."""
    if not isinstance(body, dict):
        raise Refused(INVALID, "The request body must hold one webhook as an object.")
    if "Url" in body or not hook.url:
        try:
            hook.url = checked_url(body.get("Url"))
        except ValueError as wrong:
            raise Refused(INVALID, f"'Url' is not valid. {wrong}") from None
    if "HttpAuth" in body:
        hook.auth = _auth(body["HttpAuth"])
    if "HttpHeaders" in body:
        hook.headers = _headers(body["HttpHeaders"])
    if "Triggers" in body:
        hook.triggers = _triggers(body["Triggers"], hook.triggers)


def _auth(given: Any) -> tuple[str, str] | None:
    if given is None:
        return None
    user, password = (
        (given.get("Username"), given.get("Password")) if isinstance(given, dict) else (None, None)
    )
    if not isinstance(user, str) or not isinstance(password, str):
        raise Refused(INVALID, "'HttpAuth' must hold a 'Username' and a 'Password'.")
    if (
        CONTROL.search(user + password)
        or ":" in user
        or max(len(user), len(password)) > LONGEST_TEXT
    ):
        raise Refused(INVALID, "'HttpAuth' has a character that Basic auth cannot carry.")
    return (user, password) if user or password else None


def _headers(given: Any) -> list[tuple[str, str]]:
    entries = given if isinstance(given, list) else [] if given is None else [None]
    headers = []
    for entry in entries:
        name, value = (
            (entry.get("Name"), entry.get("Value")) if isinstance(entry, dict) else (None, None)
        )
        if (
            not isinstance(name, str)
            or not isinstance(value, str)
            or not TOKEN.fullmatch(name)
            or CONTROL.search(value)
            or not value.isascii()
            or len(name + value) > LONGEST_TEXT
        ):
            raise Refused(
                INVALID,
                "'HttpHeaders' must be a list of 'Name' and 'Value', in ASCII on one line.",
            )
        headers.append((name, value))
    return headers


def _triggers(given: Any, before: dict[str, dict[str, bool]]) -> dict[str, dict[str, bool]]:
    if not isinstance(given, dict):
        raise Refused(INVALID, "'Triggers' must be an object.")
    after = dict(before)
    for name, settings in given.items():
        known = ("Enabled", OPTIONS.get(name))
        if (
            name not in TRIGGERS
            or not isinstance(settings, dict)
            or any(k not in known or not isinstance(v, bool) for k, v in settings.items())
        ):
            raise Refused(
                INVALID,
                f"The trigger '{name}' is not valid. Known: {', '.join(TRIGGERS)}, each with "
                "'Enabled'.",
            )
        after[name] = {**before.get(name, {}), **settings}
    return after
