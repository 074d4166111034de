"""An author who posts the form twice: the button pressed twice, in two windows at one moment."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from newsletter_site.demo.browser import Browser

FORM = "/admin/newsletters/"
AT_ONCE_S = 30.0
MOST_TRIES = 10


@dataclass(frozen=True, slots=True)
class Post:
    """One press of the button: the answers to it, the last one final, and where that one leads."""

    statuses: tuple[int, ...]
    location: str
    seconds: float


@dataclass(frozen=True, slots=True)
class PostedTwice:
    """Two presses with one key."""

    key: str
    first: Post
    second: Post


def post_twice(browser: Browser, title: str, html: str, text: str) -> PostedTwice:
    """Take one form from the site, fill it, and post it from two windows at the same moment."""
    form = browser.form(FORM, "idempotency_key")
    filled = {**form, "title": title, "html_content": html, "text_content": text}
    start = threading.Barrier(2)

    def press(window: Browser) -> Post:
        start.wait(AT_ONCE_S)
        return _posted(window, filled)

    with ThreadPoolExecutor(2) as presses:
        first, second = presses.map(press, (browser.window(), browser.window()))
    return PostedTwice(form["idempotency_key"], first, second)


def _posted(window: Browser, filled: dict[str, str]) -> Post:
    """Post until the answer is final: a 409 says that the other post is still being worked on."""
    begun = time.monotonic()
    statuses: list[int] = []
    while True:
        answer = window.send(FORM, filled)
        statuses.append(answer.status)
        if answer.status != 409 or len(statuses) == MOST_TRIES:
            return Post(tuple(statuses), answer.location, time.monotonic() - begun)
        time.sleep(answer.retry_after_s)
