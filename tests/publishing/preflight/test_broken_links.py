"""The check sheet counts readers whose field values would break a link."""

from typing import Any

import pytest
from django.urls import reverse

from publishing.models import Draft
from subscribers.models import ReaderFieldDefinition, Subscriber
from tests.publishing.author_browser import WindowOf

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_check_sheet_counts_readers_of_a_broken_link(
    author: Any, three_readers: list[Subscriber], window: WindowOf
) -> None:
    ReaderFieldDefinition.objects.create(key="site", label="Site", position=1)
    for reader, site in zip(three_readers, ["https://ada.example/", "none", ""], strict=True):
        Subscriber.objects.filter(pk=reader.pk).update(fields={"site": site} if site else {})
    draft = Draft.objects.create(
        title="T", letter="[you]({{ site }}?e={{ email }})", format="markdown"
    )
    page = window.get(reverse("desk:check", args=[draft.pk]))
    assert "2 readers get a broken link because of {{ site }}" in page.words
    assert "{{ site }}?e={{ email }}" in page.words
