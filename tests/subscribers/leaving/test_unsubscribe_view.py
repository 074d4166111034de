"""The page of the unsubscribe link, and one-click of mail programs."""

import itertools
import re

import pytest
from django.conf import LazySettings
from django.test import Client

from delivery.models import SuppressionChange
from subscribers.links.unsubscribe_token import token_for
from subscribers.models import ConsentRecord, DataRequest, Subscriber
from tests.subscribers.factories import SOME_DAY, SubscriberFactory, state_of

pytestmark = pytest.mark.django_db

FORM = "application/x-www-form-urlencoded"
# Damaged links, as mail programs and people write them. Each link has a complete token.
AROUND_A_LINK = (
    *("/{}/)", "/{}/>", "/{}//", "/{}>", "/{},", "/{}=", "/{}.", "/{}=3D", "/{}/&gt;", "/{} "),
    *("/{}/ ", "//{}/", "///{}", "/{}/\n", "/{}/\u200b", "/{}/%3E/"),
)
ONE_CLICK = b"List-Unsubscribe=One-Click"  # the body that RFC 8058 prescribes


@pytest.fixture
def visitor() -> Client:
    """Make a client with CSRF checks and without cookies."""
    return Client(enforce_csrf_checks=True)


def link_of(reader: Subscriber) -> str:
    return f"/unsubscribe/{token_for(reader.pk)}/"


def lines_of(reader: Subscriber) -> list[tuple[str, str, str]]:
    return list(
        ConsentRecord.objects.filter(subscriber=reader)
        .order_by("id")
        .values_list("act", "how", "network")
    )


def test_a_link_scanner_unsubscribes_nobody(visitor: Client) -> None:
    reader = SubscriberFactory()

    page = visitor.get(link_of(reader))

    assert page.status_code == visitor.head(link_of(reader)).status_code == 200
    assert not page.cookies
    assert "Cookie" not in page.headers.get("Vary", "")
    assert page.content.count(b"<button") == page.content.count(b"<h1>") == 1
    assert b'<form method="post">' in page.content
    assert b"sign up again</a> at any time" in page.content
    assert b"<script" not in page.content
    assert state_of(reader) == "confirmed"
    assert lines_of(reader) == []


def test_unsubscribing_twice_shows_the_same_page(visitor: Client) -> None:
    reader, staying = SubscriberFactory(), SubscriberFactory()

    first = visitor.post(link_of(reader))
    reader.refresh_from_db()
    left_at = reader.unsubscribed_at
    second, look = visitor.post(link_of(reader)), visitor.get(link_of(reader))

    assert first.status_code == 200
    assert b"You are off the list" in first.content
    assert b"sign up again</a> at any time" in first.content
    assert b"<button" not in first.content
    assert first.content == second.content == look.content
    assert (state_of(reader), state_of(staying)) == ("unsubscribed", "confirmed")
    assert reader.unsubscribed_at == left_at
    # The provider is asked once to suppress the address.
    asked = SuppressionChange.objects.get()
    assert (asked.address, asked.change) == (reader.email, "suppress")


ONE_CLICK_IN_PARTS = (
    b'--frontier\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\n'
    b"One-Click\r\n--frontier--\r\n"
)


@pytest.mark.parametrize(
    ("content_type", "body", "how"),
    [
        ("application/x-www-form-urlencoded", ONE_CLICK, "one-click"),
        ("multipart/form-data; boundary=frontier", ONE_CLICK_IN_PARTS, "one-click"),
        ("multipart/form-data; boundary=frontier", b"no parts", "link"),
        ("multipart/form-data", b"no boundary, no parts", "link"),
        ("application/json", b"{not even JSON", "link"),
        ("text/plain; charset=nonsense", b"\xff\x00", "link"),
        ("application/x-www-form-urlencoded", b"List-Unsubscribe=Maybe", "link"),
        ("application/x-www-form-urlencoded", ONE_CLICK + b"&" + b"x" * 5_000, "link"),
        ("", b"", "link"),
    ],
)
def test_one_click_accepts_any_body(
    visitor: Client, content_type: str, body: bytes, how: str
) -> None:
    reader = SubscriberFactory()
    page = visitor.generic(
        "POST", link_of(reader), body, content_type=content_type, REMOTE_ADDR="203.0.113.77"
    )
    assert page.status_code == 200
    assert state_of(reader) == "unsubscribed"
    assert lines_of(reader) == [("left", how, "203.0.113.0/24")]


@pytest.mark.parametrize("method", ["get", "post"])
def test_unsubscribing_never_redirects(
    visitor: Client, settings: LazySettings, method: str
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    for slash, secure in itertools.product(["/", ""], [True, False]):
        reader = SubscriberFactory()
        address = link_of(reader).rstrip("/") + slash
        page = getattr(visitor, method)(address, secure=secure)
        assert page.status_code == 200
        assert state_of(reader) == ("unsubscribed" if method == "post" else "confirmed")


def test_every_mailable_reader_can_unsubscribe(visitor: Client) -> None:
    for state in ("pending", "confirmed", "bounced"):
        reader = SubscriberFactory(state=state)
        visitor.post(link_of(reader), REMOTE_ADDR="192.0.2.1")
        assert state_of(reader) == "unsubscribed"
        assert reader.unsubscribed_at is not None
    # A mailbox provider sends many requests from one network; each unsubscribes its reader.
    readers = [SubscriberFactory() for _ in range(12)]
    for reader in readers:
        assert visitor.post(link_of(reader), REMOTE_ADDR="192.0.2.1").status_code == 200
    assert {state_of(reader) for reader in readers} == {"unsubscribed"}


def test_repeated_unsubscribes_are_recorded_once(visitor: Client) -> None:
    reader = SubscriberFactory(state="complained")
    pages = [visitor.post(link_of(reader)) for _ in range(3)]
    assert all(b"You are off the list" in page.content for page in pages)
    assert state_of(reader) == "complained"
    assert reader.unsubscribed_at is not None
    assert len(lines_of(reader)) == 1


def test_the_first_time_of_unsubscribing_is_kept(visitor: Client) -> None:
    reader = SubscriberFactory(state="unsubscribed")
    visitor.post(link_of(reader))
    reader.refresh_from_db()
    assert reader.unsubscribed_at == SOME_DAY


@pytest.mark.parametrize("around", AROUND_A_LINK)
def test_characters_stuck_to_a_link_do_not_break_it(visitor: Client, around: str) -> None:
    reader = SubscriberFactory()
    address = around.format(f"unsubscribe/{token_for(reader.pk)}").encode().decode("latin-1")
    page = visitor.get("/", PATH_INFO=address)
    assert page.status_code == 200
    assert b'<form method="post">' in page.content
    assert state_of(reader) == "confirmed"
    answer = visitor.generic("POST", "/", ONE_CLICK, FORM, PATH_INFO=address)
    assert (answer.status_code, state_of(reader)) == (200, "unsubscribed")
    assert [how for _, how, _ in lines_of(reader)] == ["one-click"]


def test_the_case_of_a_path_does_not_matter(visitor: Client, settings: LazySettings) -> None:
    # Some mail gateways rewrite the URLs in mails.
    settings.SECURE_SSL_REDIRECT = True
    reader = SubscriberFactory()
    assert visitor.post(f"/UnSubscribe/{token_for(reader.pk)}").status_code == 200
    assert state_of(reader) == "unsubscribed"
    for page in ("Unsubscribe/", "Preferences/x/", "RECORD/x/erase/", "Subscriptions/Confirm/"):
        assert "This link is damaged" in visitor.get(f"/{page}", secure=True).text, page


def test_a_damaged_link_offers_a_new_one(visitor: Client) -> None:
    reader = SubscriberFactory()
    token = token_for(reader.pk)
    cut = [
        f"unsubscribe/{token[:-1]}/",
        f"unsubscribe/{token[:9]}",
        f"UNSUBSCRIBE/{token.upper()}/",
    ]
    for ask, status in ((visitor.get, 200), (visitor.post, 404)):
        pages = [
            ask("/", PATH_INFO=f"/{one}", secure=True)
            for one in (*cut, "unsubscribe/>", "unsubscribe/x")
        ]
        assert {page.status_code for page in pages} == {status}
        # The page does not show whether a link belongs to a reader.
        assert len({re.sub(r'value="\w{64}"', "", page.text) for page in pages}) == 1
        assert "This link is damaged" in pages[0].text
        assert "<script" not in pages[0].text
    form = visitor.get(f"/{cut[0]}", secure=True)
    assert 'action="/unsubscribe/"' in form.text
    key = re.search(r'value="(\w{64})"', form.text)
    assert key
    typed = {"email": reader.email, "csrfmiddlewaretoken": key[1]}
    assert "Check your inbox" in visitor.post("/unsubscribe/", typed).text
    assert DataRequest.objects.get().email_key == reader.email
    assert state_of(reader) == "confirmed"


@pytest.mark.parametrize(
    ("email", "shown"),
    [
        ("miriam.arroia@posthouse.example.org", "m…a@posthouse.example.org"),
        ("mo@example.org", "m…@example.org"),
        ("m@example.org", "m…@example.org"),
    ],
)
def test_the_unsubscribe_page_masks_the_address(visitor: Client, email: str, shown: str) -> None:
    page = visitor.get(link_of(SubscriberFactory(email=email))).content.decode()
    page = page.replace("<wbr>", "")
    assert shown in page
    assert email not in page
