"""How an address is shown to somebody who may not be its owner."""

from __future__ import annotations


def masked(email: str) -> str:
    """
    Enough for its owner to know it and too little for anybody else: `m…a@example.org`.

    A letter is sometimes forwarded, and its unsubscribe link with it.
    """
    local_part, _, domain = email.rpartition("@")
    last = local_part[-1] if len(local_part) > 2 else ""
    return f"{local_part[:1]}…{last}@{domain}"
