"""The number of messages in one batch, which is one call to the provider. Pure."""

from delivery.models import Edition

LARGEST_BATCH_BYTES = 20 * 1024 * 1024
# A generous size for the keys, headers, metadata and links of one message, without its content.
MESSAGE_OVERHEAD_BYTES = 2_000


def batch_size_for(edition: Edition, limit: int) -> int:
    """Compute the messages per batch: `limit`, or fewer to keep a call under 20 MB.

    The size of the call is an estimate of its JSON.
    """
    content = len(edition.html_mail.encode()) + len(edition.text_mail.encode())
    message = MESSAGE_OVERHEAD_BYTES + content + content // 8
    return max(1, min(limit, LARGEST_BATCH_BYTES // message))
