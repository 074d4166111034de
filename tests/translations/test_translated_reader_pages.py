"""Pages and mails for readers contain no English word if they are in Hebrew."""

import re
from html import unescape

import pytest
from django.test import Client
from django.utils.html import strip_tags

from delivery.languages import in_language_of
from delivery.mail.html_and_text import compose, compose_transactional
from delivery.models import Edition, Newsletter
from subscribers.consent.consent_log import record_consent
from subscribers.data_requests.personal_data import load_personal_data
from subscribers.data_requests.personal_data_sentences import describe
from subscribers.links.request_token import Request
from subscribers.links.request_token import token_for as request_token
from subscribers.links.unsubscribe_token import PREFERENCES, token_for
from subscribers.models import Subscriber, Tag
from subscribers.models.consent_record import Act, How
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db

NAMES = re.compile(r"Homing|RSS|JSON|UTC|Cookie|MB|[\w.*]+@[\w.*]+|\{\{ [\w|]+ \}\}|https?://\S+")


@pytest.fixture
def newsletter() -> Newsletter:
    """Return a newsletter in Hebrew, for which the author wrote Hebrew texts."""
    own = {"name": "ציפורים", "language": "he", "tagline": "", "postal_address": "חיפה"}
    return Newsletter.objects.update_or_create(pk=1, defaults=own)[0]


@pytest.fixture
def reader(newsletter: Newsletter) -> Subscriber:
    """Return a reader with a consent record, on a list with a topic."""
    Tag.objects.create(name="נוף", is_topic=True)
    reader = SubscriberFactory(email="ada@example.net", name="עדה")
    record_consent(reader.pk, Act.ASKED, How.FORM, request=1, wording="כן")
    return reader


def english_words(page: str) -> list[str]:
    """List the words in Latin letters that people see."""
    shown = re.sub(r"(?s)<(style|svg|script).*?</\1>|<!--.*?-->", " ", page)
    spoken = " ".join(re.findall(r'(?:aria-label|title|placeholder|alt)="([^"]*)"', shown))
    return re.findall(r"[A-Za-z]{2,}", NAMES.sub(" ", unescape(f"{strip_tags(shown)} {spoken}")))


def paths_of(reader: Subscriber) -> list[str]:
    """List an address of every page that readers can open."""
    old = request_token(Edition.Kind.RECORD, Request(reader.pk, 1))
    asked = request_token(Edition.Kind.CONFIRMATION, Request(reader.pk, 1))
    return [
        *("/", "/archive/", "/archive/nothing/", "/nothing/", "/subscriptions/", "/record/"),
        *("/unsubscribe/", "/unsubscribe/x", f"/unsubscribe/{token_for(reader.pk)}"),
        *(f"/preferences/{token_for(reader.pk, PREFERENCES)}/", f"/record/{old}/"),
        *(f"/subscriptions/confirm/?subscription_token={one}" for one in (asked, asked[:9])),
    ]


def test_no_page_of_readers_has_an_english_word(reader: Subscriber) -> None:
    for path in paths_of(reader):
        page = Client().get(path, secure=True)
        assert page.headers["Content-Type"].startswith("text/html"), path
        assert english_words(page.content.decode()) == [], path
        assert '<html lang="he" dir="rtl">' in page.content.decode()


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/subscriptions/", {"email": "no address", "name": "\x00"}),
        ("/subscriptions/", {"email": "ada@example.net", "shown": "x"}),
        ("/record/", {"email": "ada@@example.net"}),
        ("/record/", {"email": "ada@example.net"}),
        ("/unsubscribe/", {"email": "ada@example.net"}),
    ],
)
def test_no_answer_to_a_form_has_an_english_word(
    reader: Subscriber, path: str, form: dict[str, str]
) -> None:
    assert english_words(Client().post(path, form, secure=True).content.decode()) == []


def test_confirming_choosing_topics_and_leaving_say_so_in_hebrew(reader: Subscriber) -> None:
    asked = request_token(Edition.Kind.CONFIRMATION, Request(reader.pk, 1))
    for path in (
        f"/subscriptions/confirm/?subscription_token={asked}",
        f"/preferences/{token_for(reader.pk, PREFERENCES)}/",
        f"/unsubscribe/{token_for(reader.pk)}",
    ):
        page = Client().post(path, secure=True)
        assert page.status_code == 200
        assert english_words(page.content.decode()) == []


def test_personal_data_is_worded_in_hebrew(reader: Subscriber, newsletter: Newsletter) -> None:
    data = load_personal_data(reader.pk)
    assert data is not None

    with in_language_of(newsletter):
        words = describe(data, to_reader=True)
        shown = [words["fields"], words["state"], words["source"]]
        for section in words["sections"]:
            shown += [section["title"], section.get("count", ""), section.get("notes", "")]
        assert english_words(" ".join(map(str, shown))) == []


@pytest.mark.parametrize("kind", [Edition.Kind.CONFIRMATION, Edition.Kind.RECORD])
def test_mails_on_request_are_hebrew(kind: str, newsletter: Newsletter) -> None:
    title, mail = compose_transactional(kind, newsletter)

    body = mail.html[mail.html.index("<body") :]
    assert [english_words(part) for part in (title, body, mail.text)] == [[], [], []]


def test_the_footer_of_a_letter_is_hebrew(newsletter: Newsletter) -> None:
    with in_language_of(newsletter):
        mail = compose(
            "שלום", "<p>שלום</p>", "שלום", newsletter=newsletter, site_url="", has_topics=True
        )

    body = mail.html[mail.html.index("<body") :]
    assert [english_words(part) for part in (body, mail.text)] == [[], []]
