"""Post events to webhooks in the background, one per request, with retries."""

import heapq
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from uuid import uuid4

import orjson

from postmark_sandbox import http
from postmark_sandbox.faults.fault_rules import FaultRule, FaultRules
from postmark_sandbox.faults.webhook_faults import address_of, plan, shuffled
from postmark_sandbox.state.webhooks import CATCH_ALL_ID, WebhookList

# Before each retry, Postmark waits this number of minutes, and the sandbox waits the same number of
# seconds.
WAITS_S = (1.0, 5.0, 10.0, 10.0, 10.0, 15.0)
# After this number of lost events of one type in a row, Postmark stops posting the type.
PAUSED_AFTER = 10


@dataclass(order=True, slots=True)
class _Post:
    """An event to post, with the webhook's id instead of the URL, which may change."""

    due: float
    order: int = field(init=False, default_factory=count().__next__)
    hook: int = field(compare=False)
    trigger: str = field(compare=False)
    body: bytes = field(compare=False)
    trace: str = field(compare=False)
    tries: int = field(compare=False, default=0)


class WebhookQueue:
    """A queue of events, with a single thread that posts them."""

    def __init__(self, url: str | None, waits_s: Sequence[float], faults: FaultRules) -> None:
        self.hooks = WebhookList()
        self._faults = faults
        self._waits_s = tuple(waits_s)
        self._changed = threading.Condition()
        # Queued events, each with the number of its posts. Single events are posted before the
        # events of whole calls, so that the effect of a button is visible at once.
        self._single: deque[tuple[Iterator[dict[str, Any]], int]] = deque()
        self._of_calls: deque[tuple[Iterator[dict[str, Any]], int]] = deque()
        # A heap of posts that are due, late or to be retried.
        self._pending: list[_Post] = []
        # The active shuffle rule, its deadline, and the posts that the rule holds back until then.
        # If enough posts wait, the queue posts them earlier.
        self._window: FaultRule | None = None
        self._window_due = 0.0
        self._mixed: list[_Post] = []
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._busy = False
        self._counts = {"posted": 0, "retried": 0, "lost": 0}
        self.hooks.set_catch_all(url)

    @property
    def waiting(self) -> int:
        """Return the number of posts that wait because they are late, shuffled or retried."""
        with self._changed:
            now = time.monotonic()
            return sum(post.due > now for post in self._pending) + len(self._mixed)

    def send(
        self, events: Iterable[dict[str, Any]], times: int = 1, *, of_call: bool = False
    ) -> None:
        """Queue events.

        Each event is built when it is posted, and posted `times` times under one id.
        """
        if not self.hooks.all():
            return
        with self._changed:
            (self._of_calls if of_call else self._single).append((iter(events), times))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="webhooks")
                self._thread.start()
            self._changed.notify_all()

    def hurry(self) -> int:
        """Post all late, shuffled and retried events now; return their number."""
        with self._changed:
            late = self.waiting
            self._close_window()
            delay = max((post.due for post in self._pending), default=0.0) - time.monotonic()
            for post in self._pending:
                # Subtract the same delay from all posts, so that they keep their order.
                post.due -= max(delay, 0.0)
            self._changed.notify_all()
            return late

    def counts(self) -> dict[str, Any]:
        with self._changed:
            queued = self._single or self._of_calls or self._pending or self._window or self._busy
            return {**self._counts, "idle": not queued, "active": bool(self.hooks.all())}

    def clear(self) -> None:
        """Drop queued posts and the webhooks that were set up through the API."""
        with self._changed:
            self._single.clear()
            self._of_calls.clear()
            self._pending.clear()
            self._window, self._mixed = None, []
            self._counts = dict.fromkeys(self._counts, 0)
            self.hooks.clear()
            self._changed.notify_all()

    def stop(self) -> None:
        """End the thread after the current post."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(http.POST_TIMEOUT_S)
        http.POOL.clear()

    def _run(self) -> None:
        while (post := self._next()) is not None:
            self._attempt(post)
            with self._changed:
                self._busy = False

    def _next(self) -> _Post | None:
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                if self._window is not None and self._window_due <= now:
                    self._close_window()
                if self._pending and self._pending[0].due <= now:
                    self._busy = True
                    return heapq.heappop(self._pending)
                if queue := self._single or self._of_calls:
                    events, times = queue[0]
                    if (event := next(events, None)) is not None:
                        self._queue(event, times, now)
                    else:
                        queue.popleft()
                    continue
                dues = [post.due for post in self._pending[:1]]
                dues += [self._window_due] if self._window is not None else []
                self._changed.wait(min(dues) - now if dues else None)
            return None

    def _queue(self, event: dict[str, Any], times: int, now: float) -> None:
        rules = self._faults.on_event(event["RecordType"], address_of(event))
        for planned in plan(event, rules):
            if planned.window is not None and self._window is None:
                self._window = planned.window
                self._window_due = now + planned.window.settings["seconds"]
            trigger, due = planned.event["RecordType"], now + planned.after_s
            for hook in self.hooks.wanting(planned.event):
                sent = dict(planned.event)
                if not hook.triggers.get(trigger, {}).get("IncludeContent"):
                    sent.pop("Content", None)
                body, trace = orjson.dumps(sent), str(uuid4())
                for after_s in [0.0] * times + planned.again_s:
                    self._put(_Post(due + after_s, hook.id, trigger, body, trace), now)

    def _put(self, post: _Post, now: float) -> None:
        if post.due > now or self._window is None:
            heapq.heappush(self._pending, post)
        else:
            self._mixed.append(post)
            if len(self._mixed) >= (self._window.settings["k"] or 2):
                self._close_window()

    def _close_window(self) -> None:
        if self._window is not None:
            now = time.monotonic()
            for post in shuffled(self._mixed, self._window.random):
                heapq.heappush(self._pending, replace(post, due=now))
            self._window, self._mixed = None, []

    def _attempt(self, post: _Post) -> None:
        hook = self.hooks.current(post.hook)
        status = 0
        if hook is not None:
            headers = hook.headers_of_event(post.trace, len(self._waits_s) - post.tries)
            status, _ = http.post(hook.url, post.body, headers)
        with self._changed:
            if hook is None:
                self._counts["lost"] += 1
            elif 200 <= status < 300:
                self._counts["posted"] += 1
                hook.lost.pop(post.trigger, None)
            elif (status in (0, 408, 429) or status >= 500) and post.tries < len(self._waits_s):
                self._counts["retried"] += 1
                due = time.monotonic() + self._waits_s[post.tries]
                heapq.heappush(self._pending, replace(post, due=due, tries=post.tries + 1))
            else:
                self._counts["lost"] += 1
                hook.lost[post.trigger] = hook.lost.get(post.trigger, 0) + 1
                if hook.id != CATCH_ALL_ID and hook.lost[post.trigger] >= PAUSED_AFTER:
                    hook.verified.discard(post.trigger)
