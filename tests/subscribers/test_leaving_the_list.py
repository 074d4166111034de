"""The page of the unsubscribe link, for people and for the one-click of mail programs."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.urls import reverse

from delivery.models import SuppressionChange
from delivery.models.newsletter import Newsletter
from subscribers import consent
from subscribers.models import ConsentRecord, Subscriber
from subscribers.readers import RegisteredReaders
from subscribers.unsubscribe_token import token_for
from tests.subscribers.factories import SOME_DAY, SubscriberFactory

pytestmark = pytest.mark.django_db

ONE_CLICK = b"List-Unsubscribe=One-Click"  # the body that RFC 8058 prescribes


@pytest.fixture
def visitor() -> Client:
    """A browser, or a mail program: strict about CSRF, and without cookies."""
    return Client(enforce_csrf_checks=True)


def link_of(reader: Subscriber) -> str:
    return f"/unsubscribe/{token_for(reader.pk)}/"


def state_of(reader: Subscriber) -> str:
    reader.refresh_from_db()
    return reader.state


def test_the_link_in_a_mail_leads_to_this_page(settings: LazySettings) -> None:
    settings.SITE_URL = "https://letter.example.org"

    (url,) = RegisteredReaders().unsubscribe_urls([7])

    assert url.startswith("https://letter.example.org/")
    assert urlsplit(url).path == reverse("subscribers:unsubscribe", args=[token_for(7)])


def test_looking_at_the_page_changes_nothing_and_shows_one_button(visitor: Client) -> None:
    reader = SubscriberFactory(email="miriam.arroia@posthouse.example.org")

    page = visitor.get(link_of(reader))

    assert page.status_code == 200
    assert page.content.count(b"<button") == 1
    assert b'<form method="post">' in page.content
    assert state_of(reader) == "confirmed"


@pytest.mark.parametrize("method", ["get", "head"])
def test_a_scanner_that_follows_links_makes_nobody_leave(visitor: Client, method: str) -> None:
    reader = SubscriberFactory()

    for _ in range(3):
        assert getattr(visitor, method)(link_of(reader)).status_code == 200

    assert state_of(reader) == "confirmed"


def test_one_press_of_the_button_is_enough(visitor: Client) -> None:
    reader = SubscriberFactory()

    page = visitor.post(link_of(reader))

    assert page.status_code == 200
    assert b"You have left the list" in page.content
    assert state_of(reader) == "unsubscribed"


def test_who_left_is_told_so_when_they_look_again(visitor: Client) -> None:
    reader = SubscriberFactory()
    visitor.post(link_of(reader))

    page = visitor.get(link_of(reader))

    assert b"You have left the list" in page.content
    assert b"<button" not in page.content


ONE_CLICK_IN_PARTS = (
    b'--frontier\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\n'
    b"One-Click\r\n--frontier--\r\n"
)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/x-www-form-urlencoded", ONE_CLICK),
        ("multipart/form-data; boundary=frontier", ONE_CLICK_IN_PARTS),
        ("multipart/form-data", b"no boundary, no parts"),
        ("application/json", b"{not even JSON"),
        ("text/plain; charset=nonsense", b"\xff\x00"),
        ("application/x-www-form-urlencoded", b"x=" * 5_000),
        ("", b""),
    ],
)
def test_one_click_takes_any_body_with_a_valid_token(
    visitor: Client, content_type: str, body: bytes
) -> None:
    reader = SubscriberFactory()

    page = visitor.generic("POST", link_of(reader), body, content_type=content_type)

    assert page.status_code == 200
    assert state_of(reader) == "unsubscribed"


def test_no_cookie_is_needed_and_none_is_set(visitor: Client) -> None:
    reader = SubscriberFactory()

    for page in (visitor.get(link_of(reader)), visitor.post(link_of(reader))):
        assert not page.cookies
        assert "Cookie" not in page.headers.get("Vary", "")


@pytest.mark.parametrize("secure", [True, False])
@pytest.mark.parametrize("slash", ["/", ""])
@pytest.mark.parametrize("method", ["get", "post"])
def test_it_never_redirects(
    visitor: Client, settings: LazySettings, method: str, slash: str, secure: bool
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    reader = SubscriberFactory()
    address = link_of(reader).rstrip("/") + slash

    page = getattr(visitor, method)(address, secure=secure)

    assert page.status_code == 200
    assert state_of(reader) == ("unsubscribed" if method == "post" else "confirmed")


def test_posting_again_is_the_same_again(visitor: Client) -> None:
    reader = SubscriberFactory()
    first = visitor.post(link_of(reader))
    reader.refresh_from_db()
    left_at = reader.unsubscribed_at

    second = visitor.post(link_of(reader))

    reader.refresh_from_db()
    assert (second.status_code, second.content) == (first.status_code, first.content)
    assert reader.unsubscribed_at == left_at


def test_the_time_of_leaving_is_told_by_the_databases_clock(visitor: Client) -> None:
    reader = SubscriberFactory()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        before = cursor.fetchone()[0]
        visitor.post(link_of(reader))
        cursor.execute("SELECT clock_timestamp()")
        after = cursor.fetchone()[0]

    reader.refresh_from_db()
    assert reader.unsubscribed_at is not None
    assert before <= reader.unsubscribed_at <= after


def test_a_pending_reader_can_leave_too(visitor: Client) -> None:
    reader = SubscriberFactory(state="pending")

    visitor.post(link_of(reader))

    assert state_of(reader) == "unsubscribed"


@pytest.mark.parametrize("state", ["pending", "confirmed", "bounced"])
def test_whoever_is_mailed_or_could_be_again_has_left(visitor: Client, state: str) -> None:
    reader = SubscriberFactory(state=state)

    visitor.post(link_of(reader))

    assert state_of(reader) == "unsubscribed"
    assert reader.unsubscribed_at is not None


def test_who_complained_keeps_that_state_and_their_wish_is_recorded(visitor: Client) -> None:
    reader = SubscriberFactory(state="complained")

    page = visitor.post(link_of(reader))

    assert b"You have left the list" in page.content
    assert state_of(reader) == "complained"
    assert reader.unsubscribed_at is not None


def lines_of(reader: Subscriber) -> list[tuple[str, str, str]]:
    """What the ledger says of a reader."""
    return list(
        ConsentRecord.objects.filter(subscriber=reader)
        .order_by("id")
        .values_list("act", "how", "network")
    )


@pytest.mark.parametrize(
    ("content_type", "body", "how"),
    [
        ("application/x-www-form-urlencoded", ONE_CLICK, "one-click"),
        ("multipart/form-data; boundary=frontier", ONE_CLICK_IN_PARTS, "one-click"),
        ("application/x-www-form-urlencoded", b"", "link"),
        ("application/x-www-form-urlencoded", b"List-Unsubscribe=Maybe", "link"),
        ("multipart/form-data; boundary=frontier", b"no parts", "link"),
        ("multipart/form-data", b"no boundary", "link"),
        ("application/x-www-form-urlencoded", ONE_CLICK + b"&" + b"x" * 5_000, "link"),
    ],
)
def test_the_ledger_says_by_which_way_and_from_which_network(
    visitor: Client, content_type: str, body: bytes, how: str
) -> None:
    reader = SubscriberFactory()

    visitor.generic(
        "POST", link_of(reader), body, content_type=content_type, REMOTE_ADDR="203.0.113.77"
    )

    assert lines_of(reader) == [("left", how, "203.0.113.0/24")]


def test_the_ledger_has_one_line_however_often_they_press(visitor: Client) -> None:
    reader = SubscriberFactory(state="complained")

    for _ in range(3):
        visitor.post(link_of(reader))

    assert len(lines_of(reader)) == 1


def test_the_provider_is_asked_to_refuse_the_address_too_once(visitor: Client) -> None:
    reader = SubscriberFactory()

    for _ in range(2):
        visitor.post(link_of(reader))

    asked = SuppressionChange.objects.get()
    assert (asked.address, asked.change) == (reader.email, "suppress")


def test_looking_puts_nothing_into_the_ledger(visitor: Client) -> None:
    reader = SubscriberFactory()

    visitor.get(link_of(reader))
    visitor.head(link_of(reader))

    assert lines_of(reader) == []


def test_who_came_back_can_leave_again(visitor: Client) -> None:
    reader = SubscriberFactory()
    visitor.post(link_of(reader))
    consent.record(reader.pk, "asked", "form", request=1)
    opt_in = consent.record(reader.pk, "confirmed", "link", request=1)
    Subscriber.objects.filter(pk=reader.pk).update(
        state="confirmed", unsubscribed_at=None, opt_in_id=opt_in
    )

    assert b"<button" in visitor.get(link_of(reader)).content
    visitor.post(link_of(reader))

    assert state_of(reader) == "unsubscribed"
    assert [act for act, *_ in lines_of(reader)] == ["left", "asked", "confirmed", "left"]


def test_many_requests_of_one_mailbox_provider_are_all_heard(visitor: Client) -> None:
    readers = [SubscriberFactory() for _ in range(40)]

    pages = [visitor.post(link_of(reader), REMOTE_ADDR="192.0.2.1") for reader in readers]

    assert {page.status_code for page in pages} == {200}
    assert {state_of(reader) for reader in readers} == {"unsubscribed"}


def test_the_page_says_how_to_come_back(visitor: Client) -> None:
    reader = SubscriberFactory()

    for page in (visitor.get(link_of(reader)), visitor.post(link_of(reader))):
        assert b"You can come back whenever you like" in page.content


def test_an_earlier_time_of_leaving_is_kept(visitor: Client) -> None:
    reader = SubscriberFactory(state="unsubscribed")

    visitor.post(link_of(reader))

    reader.refresh_from_db()
    assert reader.unsubscribed_at == SOME_DAY


def test_only_the_reader_of_the_token_leaves(visitor: Client) -> None:
    leaving, staying = SubscriberFactory(), SubscriberFactory()

    visitor.post(link_of(leaving))

    assert (state_of(leaving), state_of(staying)) == ("unsubscribed", "confirmed")


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_token_we_never_gave_out_is_not_found_whoever_it_may_mean(
    visitor: Client, method: str
) -> None:
    reader = SubscriberFactory()
    cut, foreign = token_for(reader.pk)[:-1], f"{reader.pk}.{'x' * 43}"

    pages = [getattr(visitor, method)(f"/unsubscribe/{token}/") for token in (cut, foreign, "x")]

    assert [page.status_code for page in pages] == [404, 404, 404]
    assert len({page.content for page in pages}) == 1
    assert state_of(reader) == "confirmed"


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_reader_who_is_no_longer_held_here_is_told_the_truth_that_nothing_is_sent(
    visitor: Client, method: str
) -> None:
    reader = SubscriberFactory()
    link = link_of(reader)
    with connection.cursor() as cursor:
        cursor.execute("SELECT erase_subscriber(%s, %s)", [reader.pk, b"hashed"])

    page = getattr(visitor, method)(link)

    assert page.status_code == 200
    assert b"You have left the list" in page.content


@pytest.mark.parametrize("method", ["put", "patch", "delete", "options", "trace"])
def test_other_methods_are_not_allowed(visitor: Client, method: str) -> None:
    reader = SubscriberFactory()

    assert getattr(visitor, method)(link_of(reader)).status_code == 405
    assert state_of(reader) == "confirmed"


def test_the_page_is_kept_by_nobody_and_tells_no_other_site_its_address(visitor: Client) -> None:
    page = visitor.get(link_of(SubscriberFactory()))

    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["X-Robots-Tag"] == "noindex"


@pytest.mark.parametrize(
    ("email", "shown"),
    [
        ("miriam.arroia@posthouse.example.org", "m…a@posthouse.example.org"),
        ("mo@example.org", "m…@example.org"),
        ("m@example.org", "m…@example.org"),
    ],
)
def test_a_forwarded_letter_does_not_give_the_address_away(
    visitor: Client, email: str, shown: str
) -> None:
    page = visitor.get(link_of(SubscriberFactory(email=email))).content.decode()
    page = page.replace("<wbr>", "")

    assert shown in page
    assert email not in page


def test_the_page_bears_the_newsletters_name_and_escapes_it(visitor: Client) -> None:
    Newsletter.objects.update(name="Hedge <b>& Gate</b>")

    page = visitor.get(link_of(SubscriberFactory())).content.decode()

    assert "Hedge &lt;b&gt;&amp; Gate&lt;/b&gt;" in page


def test_the_pages_need_no_script_and_work_on_a_phone(visitor: Client) -> None:
    page = visitor.get(link_of(SubscriberFactory())).content.decode()

    assert "<script" not in page
    assert 'name="viewport"' in page
    assert page.count("<h1>") == 1
    assert "<main" in page
