"""Forms work with any declared charset, and unrequested files are not stored."""

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_started
from django.db import close_old_connections
from django.test import RequestFactory

from newsletter_site.middleware.wsgi_wrappers import ignore_charset
from subscribers.links.unsubscribe_token import token_for
from subscribers.models import ConsentRecord, Subscriber
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.signup_browser import visitor

pytestmark = pytest.mark.django_db


# Without Homing's middleware, Django fails for `hex`, because `hex` is no codec of texts. Django
# accepts only UTF-8, so Django refuses iso-8859-1.
@pytest.mark.parametrize("charset", ["hex", '"iso-8859-1"'])
def test_one_click_works_with_any_charset(charset: str) -> None:
    reader = SubscriberFactory()
    form = "application/x-www-form-urlencoded"
    link = f"/unsubscribe/{token_for(reader.pk)}/?from=a-mail-program"
    asked = RequestFactory().post(link, b"List-Unsubscribe=One-Click", form, secure=True).environ
    asked["CONTENT_TYPE"] = f"{form}; charset={charset}"
    statuses: list[str] = []
    request_started.disconnect(close_old_connections)  # This would close the test's connection.
    try:
        site = ignore_charset(WSGIHandler())
        b"".join(site(asked, lambda status, *_: statuses.append(status)))
    finally:
        request_started.connect(close_old_connections)
    assert statuses == ["200 OK"]
    assert ConsentRecord.objects.get(subscriber=reader).how == "one-click"


# Django stores a file on disk only if the file is larger than 2.5 MiB.
TOO_LARGE_FOR_MEMORY = 3 * 1024 * 1024


@pytest.fixture(autouse=True)
def _no_file_can_be_written(settings: LazySettings, tmp_path: Path) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "not there")


@pytest.mark.parametrize("page", ["/subscriptions/", "/subscriptions/embedded/", "/record/"])
def test_a_large_file_in_a_form_is_skipped(page: str) -> None:
    file = SimpleUploadedFile("film.mp4", b"\0" * TOO_LARGE_FOR_MEMORY)
    answer = visitor().post(page, {"file": file, "email": "ada@example.org", "name": "Ada"})
    assert answer.status_code == 200
    assert not answer.wsgi_request.FILES
    if page == "/subscriptions/":
        assert Subscriber.objects.get().email == "ada@example.org"
