"""An author whose session ended while they wrote: not a word is lost, nothing goes out twice."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from delivery.models import Edition
from publishing.drafts.unsent_forms import MOST_PER_WRITER
from publishing.models import Draft, KeptForm
from tests.publishing.author_browser import FORM, LETTER, Page, WindowOf

pytestmark = pytest.mark.django_db(transaction=True)


def sign_in(window, username="edith"):
    window.client.force_login(get_user_model().objects.get_by_natural_key(username))


def test_a_letter_posted_after_the_session_ended_is_in_the_form_until_it_is_published(
    window, three_readers
):
    fields = window.open_form()
    window.post("/admin/logout/")

    sent_to_login = window.post(**fields)
    sign_in(window)

    assert sent_to_login.status == 302
    assert sent_to_login.answer["Location"] == f"/admin/login/?next={FORM}"
    window.client.head(FORM, secure=True)
    # Something else can be written meanwhile.
    assert shown(window, f"{FORM}?kept=")["title"] == ""
    for _ in range(2):
        kept = shown(window)
        for name in (*LETTER, "idempotency_key"):
            assert kept[name] == fields[name]
    assert not Edition.objects.exists()
    assert window.post(**kept).status == 303
    assert shown(window)["text_content"] == ""


def post_signed_out(window, **changes):
    """Write a letter, be signed out before the button is pressed, and sign in again."""
    fields = {**window.get(f"{FORM}?kept=").form_with("title").fields, **LETTER, **changes}
    window.post("/admin/logout/")
    window.post(**fields)
    sign_in(window)
    return fields


def shown(window, address=FORM):
    return window.get(address).form_with("title").fields


def test_the_kept_letter_waits_while_somebody_else_signs_in_and_out_there(window, new_author):
    new_author("tomas")
    fields = window.open_form()
    window.post("/admin/logout/")
    window.post(**fields)

    sign_in(window, "tomas")
    assert LETTER["title"] not in window.get().html
    sign_in(window)

    assert shown(window)["text_content"] == LETTER["text_content"]


def test_each_of_several_letters_posted_while_signed_out_is_kept(window, three_readers):
    first = post_signed_out(window, title="First words")
    second = post_signed_out(window, title="Second words")

    page = window.get()
    assert page.form_with("title").fields["title"] == "Second words"
    address = f"{FORM}?kept={first['idempotency_key']}"
    assert f'href="{address}"' in page.html
    assert shown(window, address)["title"] == "First words"

    assert window.post(**shown(window, address)).status == 303
    page = window.get()
    again = page.form_with("title").fields
    assert (again["title"], again["idempotency_key"]) == ("Second words", second["idempotency_key"])
    assert address not in page.html


def test_a_letter_that_is_not_needed_is_deleted_by_its_author_and_by_nobody_else(
    window, new_author
):
    fields = post_signed_out(window)
    delete = window.get().form_with("idempotency_key")
    assert delete.action == f"{FORM}kept/delete/"

    stranger = WindowOf(new_author("tomas"))
    assert stranger.post(delete.action, **delete.fields).status == 303
    assert shown(window)["idempotency_key"] == fields["idempotency_key"]

    assert window.post(delete.action, **delete.fields).status == 303
    assert shown(window)["text_content"] == ""


@pytest.mark.parametrize("key", ["", "\x00", "k" * 50, "unknown"])
def test_deleting_what_there_is_not_changes_nothing(window, key):
    post_signed_out(window)

    assert window.post(f"{FORM}kept/delete/", idempotency_key=key).status == 303
    assert window.get(f"{FORM}kept/delete/").status == 405

    assert KeptForm.objects.count() == 1


def test_a_kept_letter_that_comes_back_with_errors_is_kept_as_it_is_now(window):
    post_signed_out(window)

    assert window.post(**{**shown(window), "text_content": "{{ nmae }}"}).status == 200

    assert shown(window)["text_content"] == "{{ nmae }}"


def test_a_kept_letter_whose_key_was_used_for_other_words_takes_the_fresh_key_and_goes_with_it(
    window, three_readers
):
    fields = window.open_form()
    window.post(**fields)
    window.post("/admin/logout/")
    window.post(**{**fields, "title": "Better words"})
    window.post(**{**fields, "title": "Other words"})  # kept once, with its last words
    assert KeptForm.objects.get().title == "Other words"
    sign_in(window)

    page = window.post(**shown(window))
    assert page.status == 422
    fresh = page.form_with("title").fields
    assert shown(window)["idempotency_key"] == fresh["idempotency_key"]
    assert window.post(**fresh).status == 303

    assert shown(window)["title"] == ""
    assert Edition.objects.count() == 2


def test_of_more_letters_than_are_kept_the_oldest_goes(window, new_author):
    other = WindowOf(new_author("tomas"))
    fields = other.open_form()
    other.post("/admin/logout/")
    other.post(**fields)

    for number in range(MOST_PER_WRITER + 1):
        post_signed_out(window, title=f"Letter {number}")

    kept = KeptForm.objects.filter(writer=window.author).order_by("kept_at")
    assert [form.title for form in kept] == [f"Letter {n + 1}" for n in range(MOST_PER_WRITER)]
    assert KeptForm.objects.exclude(writer=window.author).count() == 1


def test_an_empty_form_is_not_kept_and_a_character_that_no_table_holds_costs_no_words(window):
    post_signed_out(window, title="", html_content="", text_content="")
    assert not KeptForm.objects.exists()

    post_signed_out(window, text_content="be\x00fore")
    assert shown(window)["text_content"] == "before"


def test_a_form_of_an_account_that_was_closed_is_not_kept(window):
    fields = window.open_form()
    window.author.is_active = False
    window.author.save()

    assert window.post(**fields).status == 302

    assert not KeptForm.objects.exists()


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


@pytest.mark.parametrize("writer", ["", "made up", None])
def test_what_somebody_unknown_posts_is_not_kept(author, writer):
    stranger = WindowOf(None)
    fields = {**LETTER, "idempotency_key": "k"}
    if writer is not None:
        fields["writer"] = writer

    assert stranger.post(**fields).status == 302

    assert not KeptForm.objects.exists()


def test_a_form_older_than_the_session_comes_back_with_every_word_and_the_same_key(
    author, settings, three_readers
):
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


def test_a_form_posted_to_the_check_signed_out_returns_whole(window, three_readers):
    form = window.get().form_with("title")
    window.post("/admin/logout/")
    answer = window.post(form.action, **{**form.fields, **LETTER, "then": "check"})
    sign_in(window)

    draft = Draft.objects.get()
    assert (draft.title, draft.letter, draft.text) == tuple(LETTER.values())
    assert f"{FORM}drafts/{draft.pk}/" in unquote(answer.answer["Location"])

    asked = window.get(f"{FORM}drafts/{draft.pk}/publish/?when=now").form_with("revision")
    window.post("/admin/logout/")
    answer = window.post(asked.action, **asked.fields)
    assert f"{FORM}drafts/{draft.pk}/check/" in unquote(answer.answer["Location"])
    assert not Edition.objects.exists()
    assert not KeptForm.objects.exists()


def test_a_signed_out_save_of_the_composer_keeps_no_form(window):
    fields = window.get(f"{FORM}write/").form_with("letter").fields
    words = {**fields, "title": "Swifts", "letter": "They have gone."}
    window.post("/admin/logout/")

    for address in ("drafts/", "test/"):
        window.client.post(
            FORM + address, words, secure=True, headers={"Accept": "application/json"}
        )
    sign_in(window)

    assert not KeptForm.objects.exists()
    assert "word for word" not in window.get().words


def test_a_kept_letter_goes_once_its_draft_is_saved(window):
    post_signed_out(window)
    form = window.get().form_with("title")

    assert window.post(form.action, **form.fields).status == 303

    assert not KeptForm.objects.exists()
    assert Draft.objects.get().letter == LETTER["html_content"]


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
