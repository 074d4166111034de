"""The page on which readers choose their topics."""

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from delivery.mail.mark_test_letter import TEST_RECIPIENT
from subscribers.data_requests.personal_data import load_personal_data
from subscribers.data_requests.personal_data_sentences import describe
from subscribers.delivery_hooks import RegisteredReaders
from subscribers.leaving.choose_topics import choose_topics
from subscribers.links.unsubscribe_token import PREFERENCES, token_for
from subscribers.models import ConsentRecord, Subscriber, Tag
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.signup_browser import OverTls

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor() -> Client:
    """Make a client with CSRF checks and without cookies."""
    return OverTls(enforce_csrf_checks=True)


@pytest.fixture
def topics() -> list[int]:
    """Add two topics, and a tag that readers do not see."""
    about = {"Birds": "Swifts & owls", "Fish": "", "Donors": ""}
    return [
        Tag.objects.create(name=name, is_topic=name != "Donors", description=text).pk
        for name, text in about.items()
    ]


def link_of(reader: Subscriber) -> str:
    return f"/preferences/{token_for(reader.pk, PREFERENCES)}/"


def choose(visitor: Client, reader: Subscriber, shown: list[int], chosen: list[int]) -> Any:
    return visitor.post(link_of(reader), {"shown": shown, "topic": chosen})


def groups_of(reader: Subscriber) -> tuple[list[int], list[int]]:
    reader.refresh_from_db()
    return reader.tags, reader.left_topics


def acts_of(reader: Subscriber) -> list[tuple[str, str, str]]:
    records = ConsentRecord.objects.filter(subscriber=reader).order_by("id")
    return list(records.values_list("act", "how", "detail"))


def test_opening_the_page_changes_nothing(visitor: Client, topics: list[int]) -> None:
    birds, fish, donors = topics
    reader = SubscriberFactory(email="ada@posthouse.example.org", tags=[fish, donors])
    page = visitor.get(link_of(reader))
    assert page.status_code == visitor.head(link_of(reader)).status_code == 200
    text = page.text.replace("<wbr>", "")
    assert "a…a@posthouse.example.org" in text
    assert reader.email not in text
    assert "Swifts &amp; owls" in text
    assert "Donors" not in text
    assert text.count("checkbox") == 2
    assert text.index(f'id="topic{birds}"') < text.index(" checked") > text.index(">Birds<")
    assert f"/unsubscribe/{token_for(reader.pk)}/" in text
    assert "Your preferences are saved" not in text
    assert "<script" not in text
    assert not page.cookies
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert groups_of(reader) == ([fish, donors], [])
    assert acts_of(reader) == []


def test_leaving_and_choosing_topics_is_recorded(visitor: Client, topics: list[int]) -> None:
    birds, fish, donors = topics
    reader, other = SubscriberFactory.create_batch(2, tags=[fish, donors])
    page = choose(visitor, reader, [birds, fish], [birds])
    assert "Your preferences are saved" in page.text
    assert groups_of(reader) == ([birds, donors], [fish])
    assert acts_of(reader) == [("left topics", "link", "Fish"), ("chose topics", "link", "Birds")]
    # If the reader makes the same choice again, nothing changes and nothing is recorded.
    choose(visitor, reader, [birds, fish], [birds])
    assert len(acts_of(reader)) == 2

    choose(visitor, reader, [birds, fish], [birds, fish])
    assert groups_of(reader) == ([birds, fish, donors], [])
    assert acts_of(reader)[2:] == [("chose topics", "link", "Fish")]
    assert groups_of(other) == ([fish, donors], [])


def test_the_choice_covers_only_topics_on_the_page(visitor: Client, topics: list[int]) -> None:
    birds, fish, donors = topics
    reader = SubscriberFactory(tags=[fish])
    # Choose a topic that was not on the page, and a hidden tag. Leave an unknown tag.
    choose(visitor, reader, [birds, donors], [donors, 999])
    assert groups_of(reader) == ([fish], [])
    visitor.post(link_of(reader), {"shown": ["x", "²", "9" * 30], "topic": [fish]})
    assert groups_of(reader) == ([fish], [])
    assert acts_of(reader) == []


def test_the_page_shows_the_name_and_saves_another(visitor: Client, topics: list[int]) -> None:
    reader = SubscriberFactory(name="Ada Whitlock", tags=topics[:1])
    assert 'value="Ada Whitlock"' in visitor.get(link_of(reader)).text
    choose(visitor, reader, [], [])  # a form without the name keeps the name
    for typed, status, name in (
        (" Ada\tLovelace ", 200, "Ada Lovelace"),
        ("", 200, ""),
        ("x" * 257, 422, ""),
    ):
        posted = {"name": typed, "shown": topics[:2], "topic": topics[:1]}
        page = visitor.post(link_of(reader), posted)
        assert page.status_code == status
        reader.refresh_from_db()
        assert reader.name == name
    assert "“Name” has 257 characters" in page.text
    assert acts_of(reader) == []
    # If the name is refused, no topics are saved, and the page still shows the typed choice.
    page = visitor.post(link_of(reader), {"name": "\0", "shown": topics[:2], "topic": topics[1:2]})
    assert page.text.index(f'id="topic{topics[1]}"') < page.text.index(" checked")
    assert groups_of(reader) == (topics[:1], [])


def test_only_the_reader_puts_a_left_topic_on_again(topics: list[int]) -> None:
    reader = SubscriberFactory(left_topics=topics[:1])
    with pytest.raises(IntegrityError, match="a_left_topic_is_no_tag"), transaction.atomic():
        Subscriber.objects.filter(pk=reader.pk).update(tags=topics[:1])


def test_an_unsubscribed_reader_sees_so_and_stays_unchanged(
    visitor: Client, topics: list[int]
) -> None:
    reader = SubscriberFactory(state="unsubscribed", tags=topics[:1])
    for page in (visitor.get(link_of(reader)), choose(visitor, reader, topics[:2], [])):
        assert "You are off the list" in page.text
    assert groups_of(reader) == (topics[:1], [])
    assert acts_of(reader) == []


def test_links_for_another_purpose_or_no_reader_show_no_topics(
    visitor: Client, topics: list[int]
) -> None:
    reader = SubscriberFactory(tags=topics[:1])
    for token in (token_for(reader.pk), "nonsense", "é"):
        assert visitor.post(f"/preferences/{token}/", {"shown": topics}).status_code == 404
    assert visitor.post(f"/unsubscribe/{token_for(reader.pk, PREFERENCES)}/").status_code == 404
    for damaged in ("/preferences/nonsense/)", "/preferences/"):
        assert "This link is damaged" in visitor.get(damaged).text
    assert (
        visitor.get("/", PATH_INFO=f"/{link_of(reader)})").text == visitor.get(link_of(reader)).text
    )
    test_letter = visitor.post(f"/preferences/{token_for(TEST_RECIPIENT, PREFERENCES)}/")
    assert "This link is from a test letter" in test_letter.text
    assert "You are off the list" in visitor.get(link_of(Subscriber(pk=999))).text
    assert groups_of(reader) == (topics[:1], [])


def test_a_newsletter_without_topics_offers_none(visitor: Client) -> None:
    reader = SubscriberFactory()
    assert "Topics" not in visitor.get(link_of(reader)).text
    assert "/preferences/" not in visitor.get(f"/unsubscribe/{token_for(reader.pk)}/").text


@pytest.mark.usefixtures("topics")
def test_the_unsubscribe_page_offers_topics_instead(visitor: Client) -> None:
    reader = SubscriberFactory()
    assert link_of(reader) in visitor.get(f"/unsubscribe/{token_for(reader.pk)}/").text
    (url,) = RegisteredReaders().preferences_urls([reader.pk])
    assert url.endswith(link_of(reader))


def test_personal_data_has_fields_topics_and_tags(visitor: Client, topics: list[int]) -> None:
    birds, fish, donors = topics
    reader = SubscriberFactory(fields={"city": "Graz"}, tags=[fish, donors])
    choose(visitor, reader, [birds, fish], [birds])
    data = load_personal_data(reader.pk)
    assert data is not None
    stored = json.loads(data.as_json())
    assert {key: stored[key] for key in ("fields", "topics", "tags", "left_topics")} == {
        "fields": {"city": "Graz"},
        "topics": ["Birds"],
        "tags": ["Donors"],
        "left_topics": ["Fish"],
    }
    words = describe(data, to_reader=True)
    assert words["fields"][-1] == ("city", "Graz")
    assert words["groups"] == [("Topics", "Birds"), ("Topics you left", "Fish"), ("Tags", "Donors")]
    rows = words["sections"][0]["rows"]
    assert [(row["sentence"], row["details"][-1]) for row in rows] == [
        ("Topics you left", "Fish"),
        ("Topics you chose", "Birds"),
    ]


@pytest.mark.django_db(transaction=True)
def test_a_choice_waits_for_another_and_sees_its_result() -> None:
    birds, fish = (Tag.objects.create(name=name, is_topic=True).pk for name in ("Birds", "Fish"))
    reader = SubscriberFactory(tags=[birds])
    with transaction.atomic():
        choose_topics(reader.pk, [fish], [birds])
        other = beside(lambda: choose_topics(reader.pk, [birds], [fish]))
        wait_until_somebody_waits(other)
    other.result(PATIENCE_S)
    assert groups_of(reader) == ([birds], [fish])
    assert [(act, topic) for act, _, topic in acts_of(reader)] == [
        ("left topics", "Birds"),
        ("chose topics", "Fish"),
        ("left topics", "Fish"),
        ("chose topics", "Birds"),
    ]
