"""Skip uploaded files, except on pages that expect files.

Without this module, Django would store uploaded files before it checks permissions.
"""

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, SkipFile


class RejectUploads(FileUploadHandler):
    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Do nothing: this is never called."""

    def file_complete(self, file_size: int) -> None:
        """Return no file."""
