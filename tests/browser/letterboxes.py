"""What arrived in whose letterbox: the copies that the provider accepted, counted by reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from delivery.models import Edition
from postmark_sandbox.outbox import Message
from postmark_sandbox.server import SandboxServer


def copies_of(provider: SandboxServer, edition: Edition) -> Counter[str]:
    """How many copies of an edition each address got; whoever got none is not in it."""
    mine = f"{edition.issue_id.hex}.{edition.version}."
    return Counter(
        address
        for message in _messages(provider)
        if message.metadata.get("delivery", "").startswith(mine)
        for address in message.recipients
    )


def mail_to(provider: SandboxServer, address: str) -> list[str]:
    """The subjects of all that one address got."""
    return [
        message.item["Subject"] for message in _messages(provider) if address in message.recipients
    ]


def _messages(provider: SandboxServer) -> Iterator[Message]:
    outbox = provider.sandbox.outbox
    return (outbox.message(number) for number in range(outbox.count))
