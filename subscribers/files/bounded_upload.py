"""Limit the size of uploads, so that an upload cannot fill the disk."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler
from django.http import HttpRequest
from django.http.response import HttpResponse
from django.views.decorators.csrf import csrf_exempt, csrf_protect

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


class BoundedUpload(TemporaryFileUploadHandler):
    """An upload handler that stops after `max_bytes` in total and sets `is_over`."""

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


def takes_upload(
    max_bytes: Callable[[], int],
) -> Callable[[Callable[Concatenate[HttpRequest, BoundedUpload, P], HttpResponse]], View[P]]:
    """Decorate a view to accept an upload of at most `max_bytes()` bytes.

    Checking the CSRF token reads the whole form, so this decorator sets the limit first and then
    checks the token. Put decorators that do not read the form, such as permissions, above this
    decorator.
    """

    def decorate(
        view: Callable[Concatenate[HttpRequest, BoundedUpload, P], HttpResponse],
    ) -> View[P]:
        checked = csrf_protect(view)

        @csrf_exempt
        @wraps(view)
        def limited(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            upload = BoundedUpload(max_bytes())
            request.upload_handlers = [upload]
            return checked(request, upload, *args, **kwargs)

        return limited

    return decorate
