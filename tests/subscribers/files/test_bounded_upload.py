"""A view that takes an upload sets its limit, then checks the form's CSRF token."""

from io import BytesIO
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware, get_token
from django.test import RequestFactory

from subscribers.files.bounded_upload import BoundedUpload, takes_upload

LIMIT = 100_000  # bytes


@takes_upload(lambda: LIMIT)
def store(request: HttpRequest, upload: BoundedUpload) -> HttpResponse:
    """Answer with the sizes of the files, or say that the upload is too large."""
    sizes = [file.size for file in request.FILES.getlist("file")]
    return HttpResponse("too large" if upload.is_over else str(sizes))


def post(size: int, *, with_token: bool) -> Any:
    """Post a file through Django's CSRF middleware."""
    factory = RequestFactory(enforce_csrf_checks=True)
    token = get_token(request := factory.get("/"))
    factory.cookies["csrftoken"] = request.META["CSRF_COOKIE"]
    form = {"csrfmiddlewaretoken": token} if with_token else {}
    file = BytesIO(b"x" * size)
    file.name = "list.csv"
    posted = factory.post("/", {**form, "file": file})
    try:
        return CsrfViewMiddleware(store)(posted)
    finally:
        posted.close()


@pytest.mark.parametrize(
    ("size", "answer"), [(LIMIT, f"[{LIMIT}]"), (LIMIT + 1, "too large"), (5_000_000, "too large")]
)
def test_an_upload_stops_at_the_size_limit(size: int, answer: str) -> None:
    assert post(size, with_token=True).content.decode() == answer


def test_an_upload_is_refused_without_its_token(settings: Any) -> None:
    settings.CSRF_FAILURE_VIEW = "django.views.csrf.csrf_failure"
    assert post(1, with_token=False).status_code == 403
