"""The fields that an author defined reach the mail with their values."""

import pytest

from delivery.models import Delivery
from subscribers.models import ReaderFieldDefinition, Subscriber
from tests.delivery.edition_factory import Newsroom


@pytest.fixture
def readers(newsroom: Newsroom) -> None:
    """Add a reader with both fields, and a reader with only the second field."""
    ReaderFieldDefinition.objects.create(key="city", label="City", fallback="a <town>", position=1)
    ReaderFieldDefinition.objects.create(key="plan", label="Plan", position=2)
    ada, bob = newsroom.confirm(2)
    Subscriber.objects.filter(pk=ada.pk).update(fields={"city": "Łódź & Co", "plan": "gold"})
    Subscriber.objects.filter(pk=bob.pk).update(fields={"plan": "silver"})


@pytest.mark.usefixtures("readers")
def test_a_copy_keeps_only_the_fields_that_its_letter_uses(newsroom: Newsroom) -> None:
    letter = '<p>{{ city }}, {{ city|here }}</p><a href="https://x.org/?c={{ city }}">x</a>'
    edition = newsroom.publish(title="For {{ city }}", html=letter)
    # A published edition keeps the values, even if the readers and the field change.
    Subscriber.objects.update(fields={})
    ReaderFieldDefinition.objects.all().delete()
    assert edition.merge_fields == ["city"]
    assert [copy.fields for copy in newsroom.copies(edition)] == [["Łódź & Co"], [""]]
    newsroom.deliver_all()
    ada, bob = (newsroom.sandbox.outbox.message(number).item for number in range(2))
    assert ada["Subject"] == "For Łódź & Co"
    assert "Łódź &amp; Co, Łódź &amp; Co" in ada["HtmlBody"]
    assert bob["Subject"] == "For a <town>"
    assert "a &lt;town&gt;, here" in bob["HtmlBody"]
    assert "https://x.org/?c=%C5%81%C3%B3d%C5%BA%20%26%20Co" in ada["HtmlBody"]
    assert "https://x.org/?c=a%20%3Ctown%3E" in bob["HtmlBody"]


@pytest.mark.usefixtures("readers")
def test_a_letter_without_own_fields_copies_none(newsroom: Newsroom) -> None:
    edition = newsroom.publish(html="<p>Hello {{ name }}</p>")
    assert edition.merge_fields == []
    assert not Delivery.objects.filter(fields__isnull=False).exists()
