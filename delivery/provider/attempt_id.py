"""Ids of attempts. An id shows which provider was called.

After a change of MAIL_PROVIDER, the new provider knows nothing of earlier calls. If it were asked,
its silence would look like a proof, and copies would be sent twice.
"""

import uuid

from django.utils.crypto import salted_hmac

from delivery.provider.from_settings import provider_key

FIRST = "postmark"
# Version 8 is for custom formats (RFC 9562, section 5.8). Attempts of Postmark have version
# 4, as all attempts had before there were other providers.
RANDOM, OF_ANOTHER = 4, 8
MARK_BYTES = 4


def new_attempt_id() -> uuid.UUID:
    """Make the id of a call to the configured provider."""
    made = uuid.uuid4()
    if provider_key() == FIRST:
        return made
    marked = bytearray(_mark(provider_key()) + made.bytes[MARK_BYTES:])
    marked[6] = OF_ANOTHER << 4 | marked[6] & 0x0F
    return uuid.UUID(bytes=bytes(marked))


def is_of_this_provider(attempt: uuid.UUID) -> bool:
    """Whether the call of this attempt went to the provider that is configured now."""
    if provider_key() == FIRST:
        return attempt.version == RANDOM
    is_marked = attempt.bytes.startswith(_mark(provider_key()))
    return attempt.version == OF_ANOTHER and is_marked


def _mark(name: str) -> bytes:
    # Readers see the id, and the name may hold secrets, so nobody may try values offline.
    return salted_hmac("attempt_id", name, algorithm="sha256").digest()[:MARK_BYTES]
