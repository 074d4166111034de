"""The demo's Postmark: starts the sandbox and asks it what it has got."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import requests

from newsletter_site.demo.children import Child, Children
from newsletter_site.demo.stop_signals import Stopping

DEFAULT_PORT = 8025
ANY_PORT = 0
TIMEOUT_S = 60.0
STREAMS = ("broadcast", "outbound")
WHAT_COMES_BACK = ("Bounce", "SpamComplaint", "SubscriptionChange")
ADDRESS = re.compile(r"http://[0-9.]+:([0-9]+)(?=/)")


@dataclass(frozen=True, slots=True)
class Mail:
    """A message that the sandbox accepted."""

    id: str
    unsubscribe_url: str


class Sandbox:
    """The running sandbox. `url` has no slash at its end."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._session = requests.Session()
        self._session.trust_env = False

    def copies(self) -> dict[str, int]:
        """How many copies it has of each delivery, by delivery key."""
        copies: dict[str, int] = self._ask("copies", all="1")["copies"]
        return copies

    def readers_with_two(self) -> int:
        """How many addresses have more than one copy of one edition, whatever its key."""
        number: int = self._ask("summary")["readers_with_two_of_one_edition"]
        return number

    def tell(self, site_url: str, user: str, password: str) -> None:
        """
        Have it tell the site what comes back, as webhooks of Postmark do.

        Not of deliveries: thousands of them would stand in line before a complaint.
        """
        for stream in STREAMS:
            answer = self._session.post(
                f"{self.url}/webhooks",
                headers={"X-Postmark-Server-Token": "demo"},
                json={
                    "Url": f"{site_url}/webhooks/postmark/",
                    "MessageStream": stream,
                    "HttpAuth": {"Username": user, "Password": password},
                    "Triggers": {kind: {"Enabled": True} for kind in WHAT_COMES_BACK},
                },
                timeout=TIMEOUT_S,
            )
            answer.raise_for_status()

    def newest_mail(self, words: str = "") -> Mail | None:
        """The newest message that has these words in its address or subject."""
        for message in self._ask("messages", q=words, count="1")["messages"]:
            headers = {header["Name"]: header["Value"] for header in message["headers"]}
            link = re.search(r"<(https?://[^>]+)>", headers.get("List-Unsubscribe", ""))
            return Mail(message["id"], link[1] if link else "")
        return None

    def _ask(self, what: str, **options: str) -> Any:
        answer = self._session.get(
            f"{self.url}/__sandbox__/{what}", params=options, timeout=TIMEOUT_S
        )
        answer.raise_for_status()
        return answer.json()


def start_sandbox(
    children: Children, environment: Mapping[str, str], stopping: Stopping, desk_url: str
) -> Sandbox:
    """
    Start the sandbox on its usual port, or on a free one if that is taken.

    Its inbox leads back to `desk_url`.
    """
    child = _started(children, environment, DEFAULT_PORT, stopping, desk_url)
    if child.has_ended and f"Port {DEFAULT_PORT} is in use" in child.words():
        children.forget(child)
        child = _started(children, environment, ANY_PORT, stopping, desk_url)
    found = ADDRESS.search(child.words())
    if found is None:
        raise child.death()
    return Sandbox(found[0])


def _started(
    children: Children,
    environment: Mapping[str, str],
    port: int,
    stopping: Stopping,
    desk_url: str,
) -> Child:
    """Start it and wait until it says its address or ends."""
    child = children.start(
        *("sandbox", "postmark_sandbox", "--port", str(port), "--desk-url", desk_url),
        environment=environment,
    )
    while not child.has_ended and not ADDRESS.search(child.words()):
        stopping.pause()
    return child
