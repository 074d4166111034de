"""A file that is sent to a page that asks for none is written nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile

from subscribers.models import Subscriber
from tests.subscribers.signing_up_by_hand import visitor

pytestmark = pytest.mark.django_db

# Django keeps smaller files in memory.
TOO_LARGE_FOR_MEMORY = 3 * 1024 * 1024


@pytest.fixture(autouse=True)
def _no_file_can_be_written(settings: LazySettings, tmp_path: Path) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "not there")


@pytest.mark.parametrize("page", ["/subscriptions/", "/subscriptions/embedded/", "/record/"])
def test_a_form_with_a_large_file_in_it_is_read_and_the_file_is_not(page: str) -> None:
    file = SimpleUploadedFile("film.mp4", b"\0" * TOO_LARGE_FOR_MEMORY)
    answer = visitor().post(page, {"file": file, "email": "ada@example.org", "name": "Ada"})
    assert answer.status_code == 200
    assert not answer.wsgi_request.FILES
    if page == "/subscriptions/":
        assert Subscriber.objects.get().email == "ada@example.org"
