"""Webhooks, and the events that each of them wants."""

import re
from base64 import b64encode
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import unquote, urlsplit

from postmark_sandbox.http import PostmarkError, read_url
from postmark_sandbox.rules.addresses import CONTROL

# Each event type with the trigger settings that belong to it.
TRIGGERS = {
    "Open": {"Enabled": False, "PostFirstOpenOnly": False},
    "Click": {"Enabled": False},
    "Delivery": {"Enabled": False},
    "Bounce": {"Enabled": False, "IncludeContent": False},
    "SpamComplaint": {"Enabled": False, "IncludeContent": False},
    "SubscriptionChange": {"Enabled": False},
}
# Postmark's ErrorCodes for refused webhooks.
NOT_FOUND, NO_URL, NO_BODY, MOVED, INVALID_HEADER = 1352, 1354, 1355, 1357, 1358
TOO_MANY, INVALID, NOT_VERIFIED = 1359, 1361, 1364
MAX_PER_STREAM = 10
MAX_TEXT_LENGTH = 2000
CATCH_ALL_ID, FIRST_ID = 0, 8_100_001
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(slots=True)
class Webhook:
    """A webhook and its settings; with `stream` None, it gets events of all streams.

    `verified` are the event types that the webhook gets; the others wait for a verification. `lost`
    is the number of lost events in a row, by type.
    """

    id: int
    url: str
    stream: str | None = None
    triggers: dict[str, dict[str, bool]] = field(default_factory=dict)
    auth: tuple[str, str] | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)
    verified: set[str] = field(default_factory=set)
    lost: dict[str, int] = field(default_factory=dict)

    def enabled(self) -> list[str]:
        return [name for name in TRIGGERS if self.triggers.get(name, {}).get("Enabled")]

    def headers_of_event(self, trace: str, retries_left: int) -> dict[str, str]:
        """Return the headers of a post.

        Postmark's headers override the webhook's own. Basic auth comes from `HttpAuth` or the URL.
        """
        parts = urlsplit(self.url)
        pair = self.auth
        if pair is None and parts.username is not None:
            pair = (unquote(parts.username), unquote(parts.password or ""))
        headers = dict(self.headers)
        if pair is not None:
            headers["Authorization"] = f"Basic {b64encode(':'.join(pair).encode()).decode()}"
        return {
            **headers,
            "Content-Type": "application/json",
            "User-Agent": "Postmark",
            "X-PM-Webhook-Trace-Id": trace,
            "X-PM-Retries-Remaining": str(retries_left),
        }

    def as_json(self) -> dict[str, Any]:
        """Return the webhook as `GET /webhooks/{id}` shows it."""
        auth = self.auth
        return {
            "ID": self.id,
            "Url": self.url,
            "MessageStream": self.stream,
            "HttpAuth": None if auth is None else {"Username": auth[0], "Password": auth[1]},
            "HttpHeaders": [{"Name": name, "Value": value} for name, value in self.headers],
            "Triggers": {name: TRIGGERS[name] | self.triggers.get(name, {}) for name in TRIGGERS},
        }

    def update(self, body: Any) -> None:
        """Update the fields that a request names. The stream cannot be changed."""
        if not isinstance(body, dict):
            raise PostmarkError(NO_BODY, "The request body must hold one webhook as an object.")
        if "Url" in body or not self.url:
            try:
                self.url = checked_url(body.get("Url"))
            except ValueError as wrong:
                raise PostmarkError(NO_URL, f"'Url' is not valid. {wrong}") from None
        if "HttpAuth" in body:
            self.auth = _read_auth(body["HttpAuth"])
        if "HttpHeaders" in body:
            self.headers = _read_headers(body["HttpHeaders"])
        if "Triggers" in body:
            self.triggers = _read_triggers(body["Triggers"], self.triggers)


class WebhookList:
    """Webhooks of the server, by id, and a catch-all webhook."""

    def __init__(self) -> None:
        self._by_id: dict[int, Webhook] = {}
        # Ids are never reused.
        self.next_id = count(FIRST_ID).__next__

    def set_catch_all(self, url: str | None) -> None:
        """Send every event of every stream to this URL, without verification."""
        self._by_id.pop(CATCH_ALL_ID, None)
        if url is not None:
            catch_all = Webhook(CATCH_ALL_ID, checked_url(url), verified=set(TRIGGERS))
            self._by_id = {CATCH_ALL_ID: catch_all, **self._by_id}

    def check_room(self, hook: Webhook) -> None:
        """Raise Postmark's error 1359 if this webhook's stream has too many webhooks."""
        others = [h for h in self.of(hook.stream) if h.id != hook.id]
        if len(others) >= MAX_PER_STREAM:
            sentence = f"A message stream has at most {MAX_PER_STREAM} webhooks."
            raise PostmarkError(TOO_MANY, sentence)

    def save(self, hook: Webhook) -> None:
        self._by_id[hook.id] = hook

    def remove(self, key: str) -> Webhook:
        return self._by_id.pop(self.get(key).id)

    def get(self, key: str) -> Webhook:
        """Return the webhook with this id, or raise a refusal."""
        found = self.current(int(key)) if key.isascii() and key.isdigit() else None
        if found is None or found.id == CATCH_ALL_ID:
            raise PostmarkError(NOT_FOUND, "The webhook for the provided 'ID' was not found.")
        return found

    def of(self, stream: str | None) -> list[Webhook]:
        """Return the webhooks of one stream or of all streams, without the catch-all."""
        return [h for h in self.all() if h.id != CATCH_ALL_ID and stream in (None, h.stream)]

    def all(self) -> list[Webhook]:
        """Return every webhook, the catch-all first."""
        return list(self._by_id.values())

    def wanting(self, event: dict[str, Any]) -> list[Webhook]:
        trigger, stream = event["RecordType"], event["MessageStream"]
        return [h for h in self.all() if trigger in h.verified and h.stream in (None, stream)]

    def current(self, number: int) -> Webhook | None:
        """Return the current webhook with this id, or None if it was removed."""
        return self._by_id.get(number)

    def clear(self) -> None:
        """Delete all webhooks except the catch-all."""
        self._by_id = {h.id: h for h in self.all() if h.id == CATCH_ALL_ID}


def checked_url(url: Any) -> str:
    """Return the URL if it can be posted to, else raise a refusal."""
    known = isinstance(url, str) and len(url) <= MAX_TEXT_LENGTH and read_url(url)
    if not known or CONTROL.search(url) or " " in url or not url.isascii():
        example = "http://user:password@127.0.0.1:8000/path/"
        raise ValueError(f"The webhook URL must look like {example}.")
    return str(url)


def _invalid(sentence: str) -> PostmarkError:
    return PostmarkError(INVALID, sentence)


def _two_texts(entry: Any, first: str, second: str) -> tuple[str, str] | None:
    one, two = (entry.get(first), entry.get(second)) if isinstance(entry, dict) else (None, None)
    return (one, two) if isinstance(one, str) and isinstance(two, str) else None


def _read_auth(given: Any) -> tuple[str, str] | None:
    if given is None:
        return None
    pair = _two_texts(given, "Username", "Password")
    if pair is None:
        raise _invalid("'HttpAuth' must hold a 'Username' and a 'Password'.")
    if CONTROL.search("".join(pair)) or ":" in pair[0] or max(map(len, pair)) > MAX_TEXT_LENGTH:
        raise _invalid("'HttpAuth' has a character that Basic auth cannot carry.")
    return pair if any(pair) else None


def _read_headers(given: Any) -> list[tuple[str, str]]:
    entries = given if isinstance(given, list) else [] if given is None else [None]
    pairs = [_two_texts(entry, "Name", "Value") for entry in entries]
    headers = [pair for pair in pairs if pair is not None and TOKEN.fullmatch(pair[0])]
    values = "".join(value for _, value in headers)
    too_long = any(len(name + value) > MAX_TEXT_LENGTH for name, value in headers)
    if len(headers) < len(entries) or too_long or CONTROL.search(values) or not values.isascii():
        sentence = "'HttpHeaders' must be a list of 'Name' and 'Value', in ASCII on one line."
        raise PostmarkError(INVALID_HEADER, sentence)
    return headers


def _read_triggers(given: Any, before: dict[str, dict[str, bool]]) -> dict[str, dict[str, bool]]:
    if not isinstance(given, dict):
        raise _invalid("'Triggers' must be an object.")
    after = dict(before)
    for name, settings in given.items():
        known = TRIGGERS.get(name)
        if (
            known is None
            or not isinstance(settings, dict)
            or any(k not in known or not isinstance(v, bool) for k, v in settings.items())
        ):
            expected = f"Known: {', '.join(TRIGGERS)}, each with 'Enabled'."
            raise _invalid(f"The trigger '{name}' is not valid. {expected}")
        after[name] = {**before.get(name, {}), **settings}
    return after
