"""Imports, and changes of accounts on pages, are recorded."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from publishing.activity.activity_sentences import plain_sentence_of
from tests.publishing.author_browser import WindowOf
from tests.subscribers.importing.import_browser import run_workers, uploaded

pytestmark = pytest.mark.django_db(transaction=True)


def test_imports_and_permissions_leave_their_lines() -> None:
    ola = get_user_model().objects.create_superuser("ola", password="a long password")
    ines = get_user_model().objects.create_user("ines", is_staff=True)
    window = WindowOf(ola)
    before = LogEntry.objects.count()
    address = uploaded(window)
    window.post(f"{address}import/", consent="ask")
    run_workers()
    account = f"/admin/newsletter_site/user/{ines.pk}/change/"
    person: dict[str, Any] = window.get(account).form_with("username").fields
    permission = Permission.objects.get(codename="publish_edition")
    changed = {"is_active": "on", "is_staff": "on", "user_permissions": str(permission.pk)}
    joined = {"date_joined_0": "2026-01-01", "date_joined_1": "12:00:00"}
    window.post(account, **person | changed | joined)
    assert ines.user_permissions.filter(pk=permission.pk).exists()

    uploading, importing, changing = LogEntry.objects.order_by("pk")[before:]
    assert {line.user_id for line in (uploading, importing, changing)} == {ola.pk}
    assert plain_sentence_of(uploading).startswith("ola uploaded")
    assert plain_sentence_of(importing).startswith("ola imported")
    assert changing.content_type.model == "user"
    assert "permissions" in plain_sentence_of(changing)
