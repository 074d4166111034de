"""An upload that is cut off where it becomes too large, before it fills a disk."""

from typing import Any

from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler


class BoundedUpload(TemporaryFileUploadHandler):
    """Takes up to `max_bytes` of files to disk; beyond that it stops and sets `is_over`."""

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
