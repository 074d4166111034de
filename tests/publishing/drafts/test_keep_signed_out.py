"""After a session has ended, no text is lost and nothing is sent twice."""

from urllib.parse import unquote

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from delivery.models import Edition
from publishing.models import Draft
from tests.publishing.author_browser import FORM, LETTER, Page, WindowOf

pytestmark = pytest.mark.django_db(transaction=True)


def sign_in(window, username="edith"):
    window.client.force_login(get_user_model().objects.get_by_natural_key(username))


def post_signed_out(window, **changes):
    """Write a letter, sign out before pressing the button, and sign in again."""
    fields = {**window.open_form(), **changes}
    window.post("/admin/logout/")
    answer = window.post(**fields)
    sign_in(window)
    return fields, answer


def test_letter_posted_signed_out_is_a_draft_after_sign_in(window, three_readers):
    fields, answer = post_signed_out(window)

    draft = Draft.objects.get()
    address = f"{FORM}drafts/{draft.pk}/"
    assert answer.status == 302
    assert unquote(answer.answer["Location"]) == f"/admin/login/?next={address}?signed_out="
    assert (draft.title, draft.letter, draft.text) == tuple(LETTER.values())
    assert draft.key == fields["idempotency_key"]
    assert (
        "You were signed out when you pressed the button"
        in window.get(f"{address}?signed_out=").words
    )
    assert not Edition.objects.exists()
    asked = window.get(f"{address}publish/?when=now").form_with("revision")
    assert window.post(asked.action, **asked.fields).status == 303
    assert Draft.objects.get().edition == Edition.objects.get()


def test_each_letter_posted_signed_out_is_kept_once(window):
    first, _ = post_signed_out(window, title="First words")
    post_signed_out(window, title="Second words")
    window.post("/admin/logout/")
    window.post(**first)

    assert sorted(Draft.objects.values_list("title", flat=True)) == ["First words", "Second words"]


def test_other_text_under_one_key_is_kept_too(window, three_readers):
    fields = window.open_form()
    window.post(**fields)
    window.post("/admin/logout/")
    window.post(**{**fields, "title": "Better words"})
    window.post(**{**fields, "title": "Other words"})
    sign_in(window)

    kept = Draft.objects.filter(edition=None)
    assert sorted(kept.values_list("title", flat=True)) == ["Better words", "Other words"]


def test_empty_form_is_not_kept_and_nul_loses_no_text(window):
    post_signed_out(window, title="", html_content="", text_content="")
    assert not Draft.objects.exists()

    post_signed_out(window, text_content="be\x00fore")
    assert Draft.objects.get().text == "before"


def test_form_of_a_closed_account_is_not_kept(window):
    fields = window.open_form()
    window.author.is_active = False
    window.author.save()

    assert window.post(**fields).status == 302

    assert not Draft.objects.exists()


def test_a_published_letter_posted_signed_out_leads_to_its_edition(window, three_readers):
    fields = window.open_form()
    window.post(**fields)
    window.post("/admin/logout/")
    window.post(**fields)
    sign_in(window)

    draft = Draft.objects.get()
    assert draft.edition == Edition.objects.get()
    led = window.get(f"{FORM}drafts/{draft.pk}/?signed_out=")
    assert led.answer["Location"] == f"{FORM}{draft.edition.issue_id}/?version=1"
    assert window.post(**fields).status == 303
    assert Edition.objects.count() == 1


@pytest.mark.parametrize("writer", ["", "made up", None])
def test_post_of_an_unknown_user_is_not_kept(author, writer):
    stranger = WindowOf(None)
    fields = {**LETTER, "idempotency_key": "k"}
    if writer is not None:
        fields["writer"] = writer

    assert stranger.post(**fields).status == 302

    assert not Draft.objects.exists()


def test_form_older_than_session_returns_with_text_and_key(author, settings, three_readers):
    client = Client(enforce_csrf_checks=True)
    client.force_login(author)
    fields = {**LETTER, "idempotency_key": "the-first-key", "csrfmiddlewaretoken": "x" * 64}
    client.cookies["csrftoken"] = "y" * 32

    page = Page(client.post(FORM, fields, secure=True, headers={"Referer": "https://testserver/"}))

    assert page.status == 403
    assert page.form_with("title").enctype == "multipart/form-data"
    again = page.form_with("title").fields
    for name in (*LETTER, "idempotency_key"):
        assert again[name] == fields[name]
    assert not Edition.objects.exists()
    answer = client.post(FORM, again, secure=True, headers={"Referer": "https://testserver/"})
    assert answer.status_code == 303


def test_a_signed_out_save_of_the_composer_keeps_no_form(window):
    fields = window.get(f"{FORM}write/").form_with("letter").fields
    words = {**fields, "title": "Swifts", "letter": "They have gone."}
    window.post("/admin/logout/")

    for address in ("drafts/", "test/"):
        window.client.post(
            FORM + address, words, secure=True, headers={"Accept": "application/json"}
        )
    sign_in(window)

    assert not Draft.objects.exists()
    assert "word for word" not in window.get().words


@pytest.mark.parametrize("page", ["", "write/"])
def test_a_form_older_than_the_session_is_kept_signed_out(author, page):
    window = WindowOf(author, Client(enforce_csrf_checks=True))
    form = window.get(FORM + page).form_with("title")
    window.client.logout()
    words = dict.fromkeys(("title", "letter", "html_content"), "They have gone.")
    fields = {**form.fields, **{name: words[name] for name in words if name in form.fields}}

    answer = window.post(form.action, **{**fields, "csrfmiddlewaretoken": "x" * 64})

    draft = Draft.objects.get()
    assert (draft.title, draft.letter) == ("They have gone.", "They have gone.")
    assert answer.status == 302
    assert f"{FORM}drafts/{draft.pk}/" in unquote(answer.answer["Location"])
