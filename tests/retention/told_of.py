"""What Postmark tells of a copy, as a webhook's body."""

from __future__ import annotations

import json
from typing import Any

from delivery.delivery_key import DeliveryKey
from delivery.models import Delivery


def told_of(copy: Delivery, kind: str, **more: Any) -> bytes:
    """An event of this kind about a copy; `more` stands in it as well, or instead."""
    key = DeliveryKey(copy.issue_id, copy.version, copy.recipient_id)
    body = {
        "RecordType": kind,
        "MessageID": copy.provider_message_id,
        "Recipient": copy.address,
        "Email": copy.address,
        "MessageStream": "broadcast",
        "DeliveredAt": "2030-01-01T00:00:00Z",
        "BouncedAt": "2030-01-01T00:00:00Z",
        "Metadata": {"delivery": str(key), "attempt": "0" * 32},
    }
    return json.dumps(body | more).encode()
