"""
Who visits while an issue goes out: people who sign up, an author whose form is posted again and
again, pages that ask how it stands. In a program of its own, so that it delays nobody else.

Requests begin at fixed times, whether or not earlier ones were answered. What was not answered
well is asked again, as a person or a browser would, until it is; each try that failed is counted.
`python -m tests.stack.visitors ADDRESS CERTIFICATE PER_SECOND` reads one JSON line with what the
author knows, and from then on a word a line; at `end` it prints what it counted as JSON.
"""

from __future__ import annotations

import http.client
import itertools
import json
import queue
import re
import ssl
import sys
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


@dataclass
class Tally:
    """What was counted since the last mark."""

    answered: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    given_up: Counter[str] = field(default_factory=Counter)
    waits_s: list[float] = field(default_factory=list)
    longest_s: float = 0.0


class Visitors:
    """All of them. `known` is what the author knows: cookies, the form's fields, its answer."""

    def __init__(self, site: str, certificate: str, per_s: float, known: dict[str, Any]) -> None:
        parts = urlsplit(site)
        self._host, self._port = str(parts.hostname), int(parts.port or 443)
        self._site = site
        self._context = ssl.create_default_context(cafile=certificate)
        self._per_s = per_s
        self._known = known
        self._turns: queue.Queue[tuple[str, float] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._tally = Tally()
        self._ended = threading.Event()
        self._numbers = itertools.count()
        self.signed_up: list[str] = []
        self.other_answers: list[str] = []

    # --- When ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Begin requests at their times until `end`."""
        hands = [threading.Thread(target=self._hand, args=[n], daemon=True) for n in range(HANDS)]
        for hand in hands:
            hand.start()
        began = time.monotonic()
        for number in itertools.count():
            due = began + number / self._per_s
            if self._ended.wait(max(0.0, due - time.monotonic())):
                break
            self._turns.put((KINDS[number % len(KINDS)], due))
        for _ in hands:
            self._turns.put(None)
        for hand in hands:
            hand.join(GIVEN_UP_AFTER_S + ANSWERED_WITHIN_S)

    def end(self) -> None:
        """Begin nothing more."""
        self._ended.set()

    def mark(self) -> dict[str, Any]:
        """What was counted since the last mark; counting begins anew."""
        with self._lock:
            tally, self._tally = self._tally, Tally()
        waits = sorted(tally.waits_s) or [0.0]
        return {
            "answered": dict(tally.answered),
            "failed": dict(tally.failed),
            "given_up": dict(tally.given_up),
            "median_s": waits[len(waits) // 2],
            "p99_s": waits[min(len(waits) - 1, int(len(waits) * 0.99))],
            "longest_s": tally.longest_s,
        }

    # --- What ---------------------------------------------------------------------------------

    def _hand(self, number: int) -> None:
        person = Person(self, number)
        while (turn := self._turns.get()) is not None:
            kind, due = turn
            self._ask(person, kind, due)
        person.close()

    def _ask(self, person: Person, kind: str, due: float) -> None:
        address = f"visitor{next(self._numbers)}@example.com"
        while True:
            why = person.try_to(kind, address)
            now = time.monotonic()
            with self._lock:
                if not why:
                    self._tally.answered[kind] += 1
                    self._tally.waits_s.append(now - due)
                    self._tally.longest_s = max(self._tally.longest_s, now - due)
                    if kind == "sign-up":
                        self.signed_up.append(address)
                    return
                self._tally.failed[f"{kind}: {why}"] += 1
                if now - due > GIVEN_UP_AFTER_S:
                    self._tally.given_up[kind] += 1
                    return
            person.close()
            threading.Event().wait(AGAIN_AFTER_S)

    @property
    def known(self) -> dict[str, Any]:
        """What the author knows."""
        return self._known

    def connect(self, network: int) -> http.client.HTTPSConnection:
        """A connection from an address of so-and-so many a network of this machine."""
        source = f"127.{1 + network // 250 % 250}.{1 + network % 250}.7"
        return http.client.HTTPSConnection(
            self._host,
            self._port,
            timeout=ANSWERED_WITHIN_S,
            context=self._context,
            source_address=(source, 0),
        )

    @property
    def site(self) -> str:
        """The site's address, as a browser would name it as the origin of a form."""
        return self._site

    def heard_otherwise(self, what: str) -> None:
        """A replay was answered otherwise than the first post."""
        with self._lock:
            if len(self.other_answers) < 10:
                self.other_answers.append(what)


class Person:
    """One pair of hands: now a reader of some network, now the author."""

    def __init__(self, visitors: Visitors, number: int) -> None:
        self._visitors = visitors
        self._number = number
        self._networks = itertools.count(number, HANDS)
        self._lines: dict[str, http.client.HTTPSConnection] = {}
        self._reader: tuple[str, str] | None = None  # cookie and token of this network's form
        self._sign_ups_left = 0

    def try_to(self, kind: str, address: str) -> str:
        """One try; why it failed, or nothing."""
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
        """Hang up."""
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
            *("author", "POST", "/admin/newsletters/", urlencode(known["form"])),
            Cookie=known["cookies"],
            **FORM,
        )
        if answer.status >= 400:
            return str(answer.status)
        said = f"{answer.status} {answer.headers['Location']}"
        if said != known["answer"]:
            self._visitors.heard_otherwise(said)
        return ""

    def _look(self) -> str:
        known = self._visitors.known
        answer, page = self._asked(
            "author", "GET", known["progress"], Cookie=known["cookies"], Accept="application/json"
        )
        if answer.status != 200:
            return str(answer.status)
        said = json.loads(page)
        counts = ("sent", "suppressed", "withdrawn", "failed", "unknown", "waiting")
        if sum(said[name] for name in counts) != said["audience"]:
            self._visitors.heard_otherwise(f"the counts do not add up: {said}")
        return ""


def main() -> None:
    """Visit until the word `end` comes."""
    site, certificate, per_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
    visitors = Visitors(site, certificate, per_s, json.loads(sys.stdin.readline()))
    at_work = threading.Thread(target=visitors.run)
    at_work.start()
    for line in sys.stdin:
        word = line.strip()
        if word == "mark":
            print(json.dumps(visitors.mark()), flush=True)
        if word == "end":
            break
    visitors.end()
    at_work.join()
    last = {"signed_up": visitors.signed_up, "other_answers": visitors.other_answers}
    print(json.dumps(visitors.mark() | last), flush=True)


if __name__ == "__main__":
    main()
