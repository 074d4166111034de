"""Skip files sent to pages that take none: Django would write them before it checks permissions."""

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, SkipFile


class RejectUploads(FileUploadHandler):
    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Never called."""

    def file_complete(self, file_size: int) -> None:
        """Return no file."""
