"""
Visitors while an issue is sent: sign-ups, repeated posts, progress pages.

Requests begin at fixed times, whether or not earlier ones were answered. A visitor repeats a failed
request until it is answered; each failed try is counted.
"""

from __future__ import annotations

import http.client
import itertools
import json
import queue
import re
import ssl
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

KINDS = ("sign-up", "replay", "progress")
HANDS = 24
# As many as the site lets one network send within an hour.
SIGN_UPS_OF_ONE_NETWORK = 10
AGAIN_AFTER_S = 0.25
GIVEN_UP_AFTER_S = 120.0
ANSWERED_WITHIN_S = 75.0
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
COUNTS = ("sent", "suppressed", "withdrawn", "failed", "unknown", "waiting")


@dataclass(frozen=True)
class Known:
    """The author's session, posted form, its answer, and the progress page."""

    cookies: str
    form: dict[str, str]
    answer: str
    progress: str


@dataclass
class Tally:
    """Counts since the last mark."""

    answered: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    given_up: Counter[str] = field(default_factory=Counter)
    waits_s: list[float] = field(default_factory=list)

    def slowest_but(self, share: float) -> float:
        """Return the seconds in which all but this share were answered, retries included."""
        waits = sorted(self.waits_s) or [0.0]
        return waits[min(len(waits) - 1, int(len(waits) * (1 - share)))]


class Visitors:
    """All visitors. They begin at once, and stop at `end`."""

    def __init__(self, site: str, certificate: str, per_s: float, known: Known) -> None:
        self.site, self.known = site, known
        self.signed_up: list[str] = []
        self.other_answers: list[str] = []
        self._context = ssl.create_default_context(cafile=certificate)
        self._per_s = per_s
        self._turns: queue.Queue[tuple[str, float] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._tally = Tally()
        self._ended = threading.Event()
        self._numbers = itertools.count()
        self._hands = [
            threading.Thread(target=self._work, args=[number], daemon=True)
            for number in range(HANDS)
        ]
        self._clock = threading.Thread(target=self._begin_at_their_times, daemon=True)
        for thread in (*self._hands, self._clock):
            thread.start()

    def _begin_at_their_times(self) -> None:
        began = time.monotonic()
        for number in itertools.count():
            due = began + number / self._per_s
            if self._ended.wait(max(0.0, due - time.monotonic())):
                return
            self._turns.put((KINDS[number % len(KINDS)], due))

    def end(self) -> Tally:
        """Stop new requests, wait for answers, and return the counts since `mark`."""
        self._ended.set()
        self._clock.join()
        for _ in self._hands:
            self._turns.put(None)
        for hand in self._hands:
            hand.join(GIVEN_UP_AFTER_S + ANSWERED_WITHIN_S)
        return self.mark()

    def mark(self) -> Tally:
        with self._lock:
            tally, self._tally = self._tally, Tally()
        return tally

    def answered_kinds(self) -> list[str]:
        with self._lock:
            return list(self._tally.answered)

    def connect(self, network: int) -> http.client.HTTPSConnection:
        """Connect from a different loopback network for each number."""
        address = urlsplit(self.site)
        source = f"127.{1 + network // 250 % 250}.{1 + network % 250}.7"
        return http.client.HTTPSConnection(
            str(address.hostname),
            address.port,
            timeout=ANSWERED_WITHIN_S,
            context=self._context,
            source_address=(source, 0),
        )

    def _work(self, number: int) -> None:
        person = Person(self, number)
        while (turn := self._turns.get()) is not None:
            self._ask(person, *turn)
        person.close()

    def _ask(self, person: Person, kind: str, due: float) -> None:
        address = f"visitor{next(self._numbers)}@example.com"
        while True:
            why = person.try_to(kind, address)
            waited_s = time.monotonic() - due
            with self._lock:
                if not why:
                    self._tally.answered[kind] += 1
                    self._tally.waits_s.append(waited_s)
                    if kind == "sign-up":
                        self.signed_up.append(address)
                    return
                self._tally.failed[f"{kind}: {why}"] += 1
                if waited_s > GIVEN_UP_AFTER_S:
                    self._tally.given_up[kind] += 1
                    return
            person.close()
            threading.Event().wait(AGAIN_AFTER_S)


class Person:
    """The client of one thread: a reader of some network, or the author."""

    def __init__(self, visitors: Visitors, number: int) -> None:
        self._visitors = visitors
        self._number = number
        self._networks = itertools.count(number, HANDS)
        self._lines: dict[str, http.client.HTTPSConnection] = {}
        self._reader: tuple[str, str] | None = None  # cookie and token of this network's form
        self._sign_ups_left = 0

    def try_to(self, kind: str, address: str) -> str:
        """Try once; return why it failed, or nothing."""
        try:
            match kind:
                case "sign-up":
                    return self._sign_up(address)
                case "replay":
                    return self._post_again()
                case _:
                    return self._look()
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__

    def close(self) -> None:
        for line in self._lines.values():
            line.close()
        self._lines.clear()
        self._reader = None

    def _asked(
        self, who: str, method: str, path: str, body: str | None = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        if who not in self._lines:
            network = next(self._networks) if who == "reader" else self._number
            self._lines[who] = self._visitors.connect(network)
        line = self._lines[who]
        line.request(method, path, body, {"Referer": self._visitors.site + "/", **headers})
        answer = line.getresponse()
        return answer, answer.read()

    def _sign_up(self, address: str) -> str:
        if self._reader is None or not self._sign_ups_left:
            if line := self._lines.pop("reader", None):
                line.close()
            self._reader = None
            answer, page = self._asked("reader", "GET", "/subscriptions/")
            if answer.status != 200:
                return str(answer.status)
            token = re.search(rb'name="csrfmiddlewaretoken" value="([^"]+)"', page)
            cookie = (answer.headers["Set-Cookie"] or "").partition(";")[0]
            if token is None or not cookie:
                return "no form"
            self._reader = (cookie, token[1].decode())
            self._sign_ups_left = SIGN_UPS_OF_ONE_NETWORK
        cookie, form_token = self._reader
        self._sign_ups_left -= 1
        fields = {"csrfmiddlewaretoken": form_token, "email": address, "name": "Visitor"}
        answer, page = self._asked(
            "reader", "POST", "/subscriptions/", urlencode(fields), Cookie=cookie, **FORM
        )
        return "" if answer.status == 200 and b"Traceback" not in page else str(answer.status)

    def _post_again(self) -> str:
        known = self._visitors.known
        answer, _ = self._asked(
            *("author", "POST", "/admin/newsletters/", urlencode(known.form)),
            Cookie=known.cookies,
            **FORM,
        )
        if answer.status >= 400:
            return str(answer.status)
        location = f"{answer.status} {answer.headers['Location']}"
        if location != known.answer:
            self._visitors.other_answers.append(location)
        return ""

    def _look(self) -> str:
        known = self._visitors.known
        answer, page = self._asked(
            "author", "GET", known.progress, Cookie=known.cookies, Accept="application/json"
        )
        if answer.status != 200:
            return str(answer.status)
        reading: dict[str, Any] = json.loads(page)
        if sum(reading[name] for name in COUNTS) != reading["audience"]:
            self._visitors.other_answers.append(f"the counts do not balance: {reading}")
        return ""
