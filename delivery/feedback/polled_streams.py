"""The streams of which bounces and suppressions are asked for, and the errand of each."""

from __future__ import annotations

from django.conf import settings


def polling_tasks_by_stream() -> dict[str, str]:
    """
    The name of its errand, by stream. What a setting named before stays in the table, and nobody
    goes on it.
    """
    streams = (settings.POSTMARK_BROADCAST_STREAM, settings.POSTMARK_TRANSACTIONAL_STREAM)
    return {stream: f"poll {stream}" for stream in streams}
