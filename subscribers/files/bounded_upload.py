"""Uploads with a size limit, so that they cannot fill the disk."""

from typing import Any

from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler


class BoundedUpload(TemporaryFileUploadHandler):
    """Upload handler that stops after `max_bytes` in total and sets `is_over`."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self._left = max_bytes
        self.is_over = False

    def receive_data_chunk(self, raw_data: bytes, start: int) -> Any:
        self._left -= len(raw_data)
        if self._left < 0:
            self.is_over = True
            raise StopUpload(connection_reset=False)
        return super().receive_data_chunk(raw_data, start)
