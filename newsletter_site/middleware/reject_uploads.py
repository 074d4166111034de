"""
What becomes of a file that is sent to a page that asks for none: nothing.

Django reads a form before it asks who sent it, and would write a file of any size to the disk. What
takes a file (the desk's imports and pictures, the API's imports) puts a handler of its own in place
of this one.
"""

from __future__ import annotations

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, SkipFile


class NoUploads(FileUploadHandler):
    """Reads past every file and keeps none of it; the other fields of the form are as ever."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """A file begins."""
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Never called: no file is begun."""

    def file_complete(self, file_size: int) -> None:
        """No file was kept."""
