"""Ask the demo's sandbox what it received."""

import re
from typing import Any

import requests

TIMEOUT_S = 60.0
# Not deliveries: thousands of them would delay a complaint.
WEBHOOKS = ("Bounce", "SpamComplaint", "SubscriptionChange")


class Sandbox:
    """The running sandbox. `url` has no slash at its end."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._session = requests.Session()
        self._session.trust_env = False

    def copies(self) -> dict[str, int]:
        """How many copies it has of each delivery, by delivery key."""
        copies: dict[str, int] = self._get("copies", all="1")["copies"]
        return copies

    def readers_with_two(self) -> int:
        """How many addresses have more than one copy of one edition, whatever its key."""
        number: int = self._get("summary")["readers_with_two_of_one_edition"]
        return number

    def newest_mail(self, query: str) -> tuple[str, str]:
        """The id and unsubscribe link of the newest message with these words, empty if none."""
        for message in self._get("messages", q=query, count="1")["messages"]:
            headers = {header["Name"]: header["Value"] for header in message["headers"]}
            found = re.search(r"<(https?://[^>]+)>", headers.get("List-Unsubscribe", ""))
            return message["id"], found[1] if found else ""
        return "", ""

    def send_webhooks_to(self, site_url: str, user: str, password: str) -> None:
        """Report bounces, complaints and unsubscribes to the site, as Postmark does."""
        for stream in ("broadcast", "outbound"):
            answer = self._session.post(
                f"{self.url}/webhooks",
                headers={"X-Postmark-Server-Token": "demo"},
                json={
                    "Url": f"{site_url}/webhooks/postmark/",
                    "MessageStream": stream,
                    "HttpAuth": {"Username": user, "Password": password},
                    "Triggers": {kind: {"Enabled": True} for kind in WEBHOOKS},
                },
                timeout=TIMEOUT_S,
            )
            answer.raise_for_status()

    def _get(self, name: str, **options: str) -> Any:
        url = f"{self.url}/__sandbox__/{name}"
        answer = self._session.get(url, params=options, timeout=TIMEOUT_S)
        answer.raise_for_status()
        return answer.json()
