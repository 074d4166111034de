"""Where events are posted: the URL, the headers, and the types of event that are wanted."""

from base64 import b64encode
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from postmark_sandbox.http import read_url
from postmark_sandbox.rules.addresses import CONTROL

EVENT_TYPES = ("Delivery", "Bounce", "SpamComplaint", "SubscriptionChange")


class Webhook(NamedTuple):
    url: str
    headers: dict[str, str]
    events: list[str]

    def headers_of_event(self, trace: str, retries_left: int) -> dict[str, str]:
        """The webhook's own headers, Postmark's over them, and the password in the URL."""
        parts = urlsplit(self.url)
        headers = dict(self.headers)
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        return {
            **headers,
            "Content-Type": "application/json",
            "User-Agent": "Postmark",
            "X-PM-Webhook-Trace-Id": trace,
            "X-PM-Retries-Remaining": str(retries_left),
        }


def read_webhook(url: Any, headers: Any = None, events: Any = None) -> Webhook | None:
    """The webhook with this URL, None without one; by default it gets every type of event."""
    if url is None:
        return None
    known = isinstance(url, str) and url.isascii() and read_url(url)
    if not known or CONTROL.search(url) or " " in url:
        example = "http://user:password@127.0.0.1:8000/path/"
        raise ValueError(f"The webhook URL must look like {example}.")
    headers, events = headers or {}, list(EVENT_TYPES) if events is None else events
    texts = [*headers, *headers.values()] if isinstance(headers, dict) else [None]
    if not all(isinstance(text, str) and not CONTROL.search(text) for text in texts):
        raise ValueError("'headers' is an object of names and values, each on one line.")
    if not isinstance(events, list) or not all(event in EVENT_TYPES for event in events):
        raise ValueError(f"'events' is a list of types. Known: {', '.join(EVENT_TYPES)}.")
    return Webhook(url, headers, events)
