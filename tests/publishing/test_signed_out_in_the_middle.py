"""An author whose session ended while they wrote: not a word is lost, nothing goes out twice."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from delivery.models import Edition
from tests.publishing.window_of import FORM, LETTER, Page, WindowOf

pytestmark = pytest.mark.django_db(transaction=True)


def sign_in(window, username="edith"):
    return window.post(
        f"/admin/login/?next={FORM}", username=username, password="a long password", next=FORM
    )


def test_a_letter_posted_after_the_session_ended_is_in_the_form_after_signing_in(
    window, three_readers
):
    fields = window.open_form()
    window.post("/admin/logout/")

    sent_to_login = window.post(**fields)
    sign_in(window)
    page = window.get()

    assert sent_to_login.status == 302
    assert sent_to_login.answer["Location"] == f"/admin/login/?next={FORM}"
    assert "You were signed out when you pressed the button. Nothing was published." in page.words
    kept = page.form_with("title").fields
    for name in (*LETTER, "idempotency_key"):
        assert kept[name] == fields[name]
    assert not Edition.objects.exists()
    assert window.post(**kept).status == 303


def test_the_kept_letter_is_shown_once(window):
    fields = window.open_form()
    window.post("/admin/logout/")
    window.post(**fields)
    sign_in(window)
    window.get()

    assert window.get().form_with("title").fields["text_content"] == ""


def test_the_kept_letter_has_its_old_key_so_that_a_published_one_is_not_published_again(
    window, three_readers
):
    fields = window.open_form()
    window.post(**fields)
    window.post("/admin/logout/")
    window.post(**fields)
    sign_in(window)

    assert window.post(**window.get().form_with("title").fields).status == 303

    assert Edition.objects.count() == 1


def test_nobody_else_who_signs_in_there_sees_the_kept_letter(window, new_author):
    new_author("tomas")
    fields = window.open_form()
    window.post("/admin/logout/")
    window.post(**fields)

    sign_in(window, "tomas")

    assert LETTER["title"] not in window.get().html


@pytest.mark.parametrize("writer", ["", "made up", None])
def test_what_somebody_unknown_posts_is_not_kept(author, writer):
    stranger = WindowOf(None)
    fields = {**LETTER, "idempotency_key": "k"}
    if writer is not None:
        fields["writer"] = writer

    assert stranger.post(**fields).status == 302

    assert not Session.objects.exists()


def strict(author):
    client = Client(enforce_csrf_checks=True)
    client.force_login(author)
    return client


def test_a_form_older_than_the_session_comes_back_with_every_word_and_the_same_key(
    author, settings, three_readers
):
    client = strict(author)
    fields = {**LETTER, "idempotency_key": "the-first-key", "csrfmiddlewaretoken": "x" * 64}
    client.cookies["csrftoken"] = "y" * 32

    page = Page(client.post(FORM, fields, secure=True, headers={"Referer": "https://testserver/"}))

    assert page.status == 403
    assert "This form was older than your present session." in page.words
    again = page.form_with("title").fields
    for name in (*LETTER, "idempotency_key"):
        assert again[name] == fields[name]
    assert not Edition.objects.exists()
    answer = client.post(FORM, again, secure=True, headers={"Referer": "https://testserver/"})
    assert answer.status_code == 303


def test_any_other_form_older_than_the_session_is_refused_in_a_sentence(author, settings):

    page = Page(strict(author).post("/admin/logout/", secure=True))

    assert page.status == 403
    assert "This form is older than your present session. Nothing was changed." in page.words
