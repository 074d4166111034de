"""One message as the renderer hands it to a provider."""

from typing import Any

ATTEMPT = "0b" * 16


def message(number: int, **changed: Any) -> dict[str, Any]:
    return {
        "sender": "Ada’s Letter <letter@news.example.org>",
        "to": f"reader{number}@example.net",
        "reply_to": "ada@example.org",
        "subject": "Ebb & flöw",
        "html": "<p>Dear reader</p>",
        "text": "Dear reader\n.\n.. dots\n",
        "tag": "issue-1",
        "stream": "broadcast",
        "metadata": {"delivery": f"issue.1.{number}", "attempt": ATTEMPT},
        "headers": [
            ["Message-ID", f"<issue.1.{number}@news.example.org>"],
            ["List-Id", '"The Letter" <letter.news.example.org>'],
            ["List-Unsubscribe", f"<https://letter.example.org/unsubscribe/t{number}/>"],
            ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click"],
        ],
    } | changed
