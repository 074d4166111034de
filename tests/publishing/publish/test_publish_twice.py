"""An issue is published once, even if its form is posted many times."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection

from delivery.mail.mark_test_letter import TEST_ISSUE
from delivery.mail.transactional_mail_texts import KIND_BY_ISSUE
from delivery.models import Batch, Delivery, Edition
from idempotency.claim import slot_locks
from idempotency.models import PostedForm
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.flash_messages import to_nobody
from publishing.models import Issue
from tests.publishing.author_browser import FORM, WindowOf
from tests.publishing.edition_states import written
from tests.publishing.second_connection import PATIENCE_S, at_once, beside

pytestmark = pytest.mark.django_db(transaction=True)

ACCEPTED = "The newsletter issue has been accepted - emails will go out shortly."


def published():
    """Count the rows in each table into which a publication writes."""
    return {
        # Leave out the issues of transactional mail: migrations add them, and some tests remove
        # them.
        "Issue": Issue.objects.exclude(pk__in={*KIND_BY_ISSUE, TEST_ISSUE}).count(),
        **{
            model.__name__: model.objects.count()
            for model in (Edition, Delivery, Batch, PostedForm, LogEntry)
        },
    }


ONE_TO_THREE = {"Issue": 1, "Edition": 1, "Delivery": 3, "Batch": 1, "PostedForm": 1, "LogEntry": 1}
NOTHING = dict.fromkeys(ONE_TO_THREE, 0)


def test_letter_is_published_once_to_every_confirmed_reader(window, three_readers):
    fields, answers = window.open_form(), []
    for _ in range(2):  # the same form gets the same answer
        answers.append(window.post(**fields))

        assert published() == ONE_TO_THREE
        issue = written().get()
        page = window.get()
        assert ACCEPTED in page.words
        assert f'href="/admin/newsletters/{issue.pk}/"' in page.html
        assert ACCEPTED not in window.get().words

    first, again = answers
    assert first.status == again.status == 303
    assert first.answer.content == again.answer.content
    assert first.answer["Location"] == again.answer["Location"] == FORM
    assert first.answer["Content-Type"] == again.answer["Content-Type"]
    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_id) == (window.author, str(issue.pk))
    assert plain_sentence_of(entry) == f"Edith Marlow published {issue.title} to 3 readers."


def test_issue_without_confirmed_readers_is_accepted_with_a_warning(
    window,
):
    assert window.publish().status == 303

    page = window.get()
    assert ACCEPTED in page.words
    assert to_nobody(Edition.objects.get()) in page.words
    assert window.get(f"/archive/{written().get().slug}/").status == 200


def test_20_concurrent_posts_publish_once_and_all_get_303(window, three_readers):
    fields = window.open_form()
    windows = [window.another() for _ in range(20)]
    answers = at_once(*[lambda one=one: one.post(**fields) for one in windows])

    assert {answer.status for answer in answers} <= {303, 409}
    assert 303 in {answer.status for answer in answers}
    for answer in answers:
        if answer.status == 409:
            assert int(answer.answer["Retry-After"]) >= 1
            held = answer.form_with("title")
            assert window.post(held.action, **held.fields).status == 303
    assert published() == ONE_TO_THREE


def test_post_that_cannot_wait_gets_409_with_letter_and_key(window, three_readers):
    fields = {**window.open_form(), "text_content": "\n\nlate & <bold>\n", "unlisted": "on"}
    with connection.cursor() as cursor:  # other sessions hold every lock for this key
        for slot in slot_locks(window.author.pk, fields["idempotency_key"]):
            cursor.execute("SELECT pg_advisory_lock(%s)", [slot])
    busy = beside(lambda: window.post(**fields)).result(PATIENCE_S)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock_all()")

    assert busy.status == 409
    assert busy.form_with("title").enctype == "multipart/form-data"
    assert busy.answer["Retry-After"] == "1"
    assert 'data-post-again="1"' in busy.html
    held = busy.form_with("title")
    for name in ("title", "html_content", "text_content", "idempotency_key", "unlisted"):
        assert held.fields[name] == fields[name]
    assert published() == NOTHING
    assert window.post(held.action, **held.fields).status == 303
    assert published() == ONE_TO_THREE


def test_other_content_after_back_button_gets_422_and_is_kept(window, three_readers):
    fields = window.open_form()
    window.post(**fields)
    changed = {**fields, "text_content": "Dear {{ name|reader }},\n\nthey are <b>back</b>.\n"}

    page = window.post(**changed)

    assert page.status == 422
    assert page.form_with("title").enctype == "multipart/form-data"
    issue = written().get()
    assert f'href="/admin/newsletters/{issue.pk}/?version=1"' in page.html
    assert "<mark>" in page.html
    assert "<b>back" not in page.html
    fresh = page.form_with("title").fields
    assert fresh["text_content"] == changed["text_content"]
    assert fresh["idempotency_key"] != fields["idempotency_key"]
    assert published() == ONE_TO_THREE
    assert window.post(**fresh).status == 303
    assert Edition.objects.count() == 2


def test_another_users_equal_key_is_another_key(window, new_author, three_readers):
    other = WindowOf(new_author("tomas"))

    assert window.publish(idempotency_key="the same").status == 303
    assert other.publish(idempotency_key="the same", title="Tomás writes").status == 303

    assert Edition.objects.count() == 2


def test_bad_key_gets_400_and_text_in_new_form(window, three_readers):
    fields = window.open_form()

    page = window.post(**{**fields, "idempotency_key": "x" * 50})

    assert page.status == 400
    assert "50 characters" in page.words
    assert page.form_with("title").enctype == "multipart/form-data"
    again = page.form_with("title").fields
    assert again["text_content"] == fields["text_content"]
    assert published() == NOTHING
    assert window.post(**again).status == 303


def test_key_belongs_to_its_letter_after_the_saved_response_expired(window, three_readers):
    fields = window.open_form()
    window.post(**fields)
    PostedForm.objects.all().delete()

    other = window.post(**{**fields, "title": "Quite another title"})
    assert other.status == 422
    assert other.form_with("title").fields["title"] == "Quite another title"
    assert published() == {**ONE_TO_THREE, "PostedForm": 0}
    assert window.post(**fields).status == 303
    assert published() == ONE_TO_THREE
    assert ACCEPTED in window.get().words
