"""Publishing, cancelling, importing, erasing and account changes are recorded."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from delivery.models import Edition
from publishing.activity.activity_sentences import plain_sentence_of
from tests.publishing.author_browser import FORM, WindowOf
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.importing.import_browser import run_workers, uploaded

pytestmark = pytest.mark.django_db(transaction=True)


def test_publishing_cancelling_importing_erasing_and_permissions_all_leave_their_line() -> None:
    ola = get_user_model().objects.create_superuser("ola", password="a long password")
    ines = get_user_model().objects.create_user("ines", is_staff=True)
    reader = SubscriberFactory(email="ada@posthouse.example", name="Ada")
    window = WindowOf(ola)
    last = LogEntry.objects.count()

    def new_lines() -> list[tuple[str, str]]:
        nonlocal last
        lines = list(LogEntry.objects.order_by("pk"))[last:]
        last += len(lines)
        assert all(line.user_id == ola.pk for line in lines)
        return [(plain_sentence_of(line), line.content_type.model) for line in lines]

    assert window.publish().status == 303
    assert new_lines() == [
        ("ola published Swifts leave without saying goodbye to 1 reader.", "issue")
    ]

    issue = Edition.objects.get(issue__title__startswith="Swifts").issue_id
    asked = window.get(f"{FORM}{issue}/cancel/").form_with("csrfmiddlewaretoken").fields
    assert window.post(f"{FORM}{issue}/cancel/", **asked).status in {302, 303}
    # No reader got the letter, so it is a draft again.
    assert new_lines() == [
        ("ola started the draft Swifts leave without saying goodbye.", "draft"),
        ("ola cancelled Swifts leave without saying goodbye.", "issue"),
    ]

    address = uploaded(window)
    window.post(f"{address}import/", consent="ask")
    run_workers()
    (uploading, importing) = new_lines()
    assert uploading[0].startswith("ola uploaded")
    assert importing[0].startswith("ola imported")

    window.post(f"/admin/newsletters/readers/{reader.pk}/erase/")
    assert new_lines() == [(f"ola erased subscriber {reader.pk}.", "subscriber")]

    person: dict[str, Any] = (
        window.get(f"/admin/newsletter_site/user/{ines.pk}/change/").form_with("username").fields
    )
    permission = Permission.objects.get(codename="publish_edition")
    window.post(
        f"/admin/newsletter_site/user/{ines.pk}/change/",
        **{
            **person,
            "is_active": "on",
            "is_staff": "on",
            "user_permissions": str(permission.pk),
            "date_joined_0": "2026-01-01",
            "date_joined_1": "12:00:00",
        },
    )
    ((sentence, what),) = new_lines()
    assert what == "user"
    assert "permissions" in sentence
    assert ines.user_permissions.filter(pk=permission.pk).exists()
