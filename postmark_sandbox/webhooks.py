"""The only place that posts webhooks: one event a request, in the background, with retries.

Off unless there is a URL. The waits between the tries are Postmark's (1, 5, 10, 10, 10, 15
minutes) with seconds for minutes. Answers 2xx end it; 5xx, 408, 429 and broken connections are
tried again; any other answer loses the event, as it does at Postmark.
"""

import heapq
import threading
import time
from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit
from uuid import uuid4

import orjson

WAITS_S = (1.0, 5.0, 10.0, 10.0, 10.0, 15.0)
TIMEOUT_S = 10.0


@dataclass(order=True, slots=True)
class _Post:
    due: float
    body: bytes = field(compare=False)
    trace: str = field(compare=False)
    tries: int = field(compare=False, default=0)


class Webhooks:
    """A queue of events and the one thread that posts them."""

    def __init__(self, url: str | None = None, waits_s: Sequence[float] = WAITS_S) -> None:
        self._waits_s = tuple(waits_s)
        self._changed = threading.Condition()
        # Event and trace id; the same pair again is the same event, told once more.
        self._events: deque[Iterator[tuple[dict[str, Any], str]]] = deque()
        self._retries: list[_Post] = []
        # Only the thread touches the connection; others tell it that the URL has moved.
        self._connection: HTTPConnection | None = None
        self._moved = False
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._busy = False
        self._url: SplitResult | None = None
        self._counts = {"posted": 0, "retried": 0, "lost": 0}
        self.point_at(url)

    @property
    def active(self) -> bool:
        """Whether there is anyone to tell."""
        return self._url is not None

    def point_at(self, url: str | None) -> None:
        """Sends events to this URL from now on, None for nowhere; Basic auth from the URL."""
        parts = urlsplit(url) if url else None
        if parts is not None and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError(
                "The webhook URL must look like http://user:password@127.0.0.1:8000/path/."
            )
        with self._changed:
            self._url = parts
            self._moved = True

    def send(self, events: Iterable[dict[str, Any]], times: int = 1) -> None:
        """Queues events; they are made only when their turn comes. With `times` each is posted
        as often, under one trace id, as if an answer had been lost."""
        if not self.active:
            return
        traced = ((event, str(uuid4())) for event in events)
        with self._changed:
            self._events.append(pair for pair in traced for _ in range(times))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="webhooks")
                self._thread.start()
            self._changed.notify_all()

    def counts(self) -> dict[str, Any]:
        """What was posted, tried again and lost, and whether the queue is empty."""
        with self._changed:
            idle = not self._events and not self._retries and not self._busy
            return {**self._counts, "idle": idle, "active": self.active}

    def clear(self) -> None:
        """Drops what is queued."""
        with self._changed:
            self._events.clear()
            self._retries.clear()
            self._counts = dict.fromkeys(self._counts, 0)

    def stop(self) -> None:
        """Ends the thread after the post it is at."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(TIMEOUT_S)

    def _run(self) -> None:
        while (post := self._next()) is not None:
            self._attempt(post)
            with self._changed:
                self._busy = False
        self._hang_up()

    def _next(self) -> _Post | None:
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                if self._retries and self._retries[0].due <= now:
                    self._busy = True
                    return heapq.heappop(self._retries)
                if self._events:
                    pair = next(self._events[0], None)
                    if pair is None:
                        self._events.popleft()
                        continue
                    self._busy = True
                    event, trace = pair
                    return _Post(now, orjson.dumps(event), trace)
                self._changed.wait(self._retries[0].due - now if self._retries else None)
            return None

    def _attempt(self, post: _Post) -> None:
        status = self._post(post)
        with self._changed:
            if 200 <= status < 300:
                self._counts["posted"] += 1
            elif (status in (0, 408, 429) or status >= 500) and post.tries < len(self._waits_s):
                self._counts["retried"] += 1
                post.due = time.monotonic() + self._waits_s[post.tries]
                post.tries += 1
                heapq.heappush(self._retries, post)
            else:
                self._counts["lost"] += 1

    def _post(self, post: _Post) -> int:
        """The HTTP status, 0 if there was none."""
        url = self._url
        if url is None:
            return 0
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Postmark",
            "X-PM-Webhook-Trace-Id": post.trace,
            "X-PM-Retries-Remaining": str(len(self._waits_s) - post.tries),
        }
        if url.username is not None:
            pair = f"{unquote(url.username)}:{unquote(url.password or '')}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        if self._moved:
            self._moved = False
            self._hang_up()
        try:
            if self._connection is None:
                make = HTTPSConnection if url.scheme == "https" else HTTPConnection
                self._connection = make(url.hostname or "", url.port, timeout=TIMEOUT_S)
            self._connection.request("POST", path, post.body, headers)
            reply = self._connection.getresponse()
            reply.read()
            return reply.status
        except (OSError, HTTPException):
            self._hang_up()
            return 0

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
