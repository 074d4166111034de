"""The front page: the newsletter's name, the form, and the latest letters."""

from typing import Any

import pytest

from delivery.models import Newsletter
from publishing.publish.publish_edition import publish
from subscribers.models import Subscriber
from tests.publishing.content_factory import letter
from tests.subscribers.signup_browser import get_current, press, sign_up, visitor

pytestmark = pytest.mark.django_db(transaction=True)


def front_page() -> str:
    page = visitor().get("/")
    assert page.status_code == 200
    return page.content.decode()


def test_name_and_tagline_are_shown_and_escaped() -> None:
    Newsletter.objects.get_current()
    Newsletter.objects.update(name="Hedge <b>& Gate</b>", tagline="On <i>birds</i>")

    page = front_page()

    assert "<title>Hedge &lt;b&gt;&amp; Gate&lt;/b&gt;</title>" in page
    assert "On &lt;i&gt;birds&lt;/i&gt;" in page


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("de", 'lang="de" dir="ltr"'),
        ("ar", 'lang="ar" dir="rtl"'),
        ("pt-PT", 'lang="pt" dir="ltr"'),
        ("sv", 'lang="en" dir="ltr"'),
    ],
)
def test_page_has_the_newsletters_language_or_the_nearest(language: str, shown: str) -> None:
    Newsletter.objects.get_current()
    Newsletter.objects.update(language=language)

    page = front_page()

    assert f"<html {shown}>" in page
    assert f'<h1 class="name" lang="{language}"' in page


def test_the_form_has_one_labelled_field_and_one_button() -> None:
    page = front_page()

    assert '<label for="email">Email address</label>' in page
    assert page.count("<button") == 1
    assert 'action="/subscriptions/"' in page
    assert page.count("<h1") == 1
    # The field that traps robots is hidden from screen readers.
    assert '<div class="hide" aria-hidden="true">' in page
    assert 'name="reply" autocomplete="off" tabindex="-1"' in page
    assert 'href="/"' in visitor().get("/archive/").content.decode()


def test_the_latest_letters_are_shown_with_a_link_to_all(author: Any) -> None:
    for number in range(7):
        publish(author.pk, f"key-{number}", letter(f"Letter number {number}"), hold_s=0)
    publish(author.pk, "held", letter("A held letter"), hold_s=600)

    page = front_page()

    assert "A held letter" not in page
    assert [f"Letter number {number}" in page for number in range(7)] == [False] * 2 + [True] * 5
    assert page.index("Letter number 6") < page.index("Letter number 5")
    assert 'href="/archive/"' in page


def test_the_page_after_confirming_shows_sender_and_latest_letter(author: Any) -> None:
    sign_up()
    confirmed = press(get_current()).text.replace("<wbr>", "")
    assert ">letter@example.org</b> as a contact" in confirmed
    assert "/archive/" not in confirmed
    for number in range(2):
        publish(author.pk, f"key-{number}", letter(f"Letter number {number}"), hold_s=0)
    confirmed = press(get_current()).text
    assert "Letter number 1" in confirmed
    assert "Letter number 0" not in confirmed
    assert 'href="/archive/"' in confirmed


def test_a_get_changes_nothing_and_is_not_cached() -> None:
    page = front_page()
    looked = visitor().head("/")

    assert looked.status_code == 200
    assert looked.headers["Cache-Control"] == "private, no-cache"
    assert "Cookie" in looked.headers["Vary"]
    assert "<script" not in page
    assert not Subscriber.objects.exists()
    for method in ("post", "put", "delete"):
        assert getattr(visitor(), method)("/").status_code == 405
