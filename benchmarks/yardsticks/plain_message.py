"""Messages of the yardsticks: like the worker's, but built in the simplest way.

The messages have the same keys and headers as the worker's, and a body of the same length with the
reader's name. Each message has an unsubscribe link for its reader, and metadata by which the copy
can be found. There are no other merge fields, no fallback for a missing name, and no check of the
address.
"""

import base64
import hashlib
import hmac
from html import escape
from typing import Any

from benchmarks.letter import HOST, LETTER, LINK, NAME, SENDER, TITLE

_KEY = b"the key of the yardsticks' links"
_BEFORE_NAME, _, _REST = LETTER.partition(NAME)
_BEFORE_LINK, _, _AFTER_LINK = _REST.partition(LINK)
_LIST_ID = {"Name": "List-Id", "Value": f'"The Homing Letter" <letter.{HOST}>'}
_KEEP_ID = {"Name": "X-PM-KeepID", "Value": "true"}
_ONE_CLICK = {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"}


def plain_message(
    issue: str, attempt: str, recipient: int, address: str, name: str
) -> dict[str, Any]:
    """Build the message to one reader.

    `issue` and `attempt` are 32 hexadecimal digits each.
    """
    proof = hmac.digest(_KEY, b"%d" % recipient, hashlib.sha256)[:18]
    token = base64.urlsafe_b64encode(proof).decode()
    link = f"https://{HOST}/unsubscribe/T{recipient:x}.{token}/"
    key = f"{issue}.1.{recipient}"
    return {
        "From": SENDER,
        "Tag": f"issue-{issue}",
        "TrackOpens": False,
        "TrackLinks": "None",
        "MessageStream": "broadcast",
        "To": address,
        "Subject": TITLE,
        "Metadata": {"delivery": key, "attempt": attempt},
        "Headers": [
            {"Name": "Message-ID", "Value": f"<{key}@{HOST}>"},
            _KEEP_ID,
            _LIST_ID,
            {"Name": "List-Unsubscribe", "Value": f"<{link}>"},
            _ONE_CLICK,
        ],
        "HtmlBody": f"{_BEFORE_NAME}{escape(name)}{_BEFORE_LINK}{link}{_AFTER_LINK}",
    }
