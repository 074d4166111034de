"""How many messages fit into one batch, which is one call to the provider. Pure."""

from delivery.models import Edition

LARGEST_BATCH_BYTES = 20 * 1024 * 1024
# Keys, headers, metadata and links of one message besides its content, generously.
MESSAGE_OVERHEAD_BYTES = 2_000


def batch_size_for(edition: Edition, limit: int) -> int:
    """Messages per batch: `limit`, or fewer if a call would be estimated at over 20 MB of JSON."""
    content = len(edition.html_mail.encode()) + len(edition.text_mail.encode())
    message = MESSAGE_OVERHEAD_BYTES + content + content // 8
    return max(1, min(limit, LARGEST_BATCH_BYTES // message))
