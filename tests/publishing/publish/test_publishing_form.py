"""The publishing form keeps its texts, names its errors, and publishes only once."""

import re
from dataclasses import replace

import pytest
from django.db import IntegrityError, transaction

from delivery.models import Edition
from idempotency.key import fresh_key
from idempotency.models import PostedForm
from publishing.content.draft_content import build_content
from publishing.drafts import save_draft
from publishing.drafts.save_draft import lock_by_key
from publishing.models import Draft, Issue
from publishing.publish.publish_draft import Confirmation, publish_draft
from publishing.publish.publish_edition import publish
from tests.publishing.author_browser import FORM, LETTER, Page, WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import written
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)


def nothing_was_published():
    return not (written().exists() or Edition.objects.exists() or PostedForm.objects.exists())


def refused(page: Page, sentence: str) -> bool:
    """Return whether the form is shown again with this sentence, without publishing."""
    return page.status == 200 and sentence in page.words and nothing_was_published()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"unlisted": "none", "text_content": "{{ archive_url }}"}, "is not in the archive"),
        ({"unlisted": "none", "goes_to": "nobody"}, "goes to nobody has only its page"),
        ({"with_tags": "99999"}, "A tag of the audience was deleted"),
        ({"with_tags": "Founders"}, "A tag of the audience was deleted"),
        ({"without_tags": "9" * 30}, "A tag of the audience was deleted"),
    ],
)
def test_a_letter_that_cannot_go_out_comes_back(window, three_readers, changes, sentence):
    page = window.publish(**changes)
    assert refused(page, sentence)
    assert page.form_with("title").fields["title"] == LETTER["title"]


def test_empty_title_is_named_at_field_and_in_summary(window, three_readers):
    fields = window.open_form()

    page = window.post(**{**fields, "title": "  "})

    assert refused(page, "")
    assert 'href="#id_title"' in page.html
    title = re.search(r"<textarea[^>]*name=\"title\"[^>]*>", page.html)[0]
    assert 'aria-invalid="true"' in title
    for described_by in re.search(r'aria-describedby="([^"]+)"', title)[1].split():
        assert f'id="{described_by}"' in page.html
    assert page.title.startswith("Error: ")
    for changes, sentence in (
        ({"text_content": "Dear {{ nmae }}"}, "“{{ nmae }}”"),
        ({"title": "Leave: {{ unsubscribe_url }}"}, "“{{ unsubscribe_url }}”"),
        ({"text_content": " \n", "html_content": ""}, "empty"),
    ):
        assert refused(window.publish(**changes), sentence)


def test_a_form_with_errors_keeps_every_word_and_its_key(window):
    fields = {**window.open_form(), "title": "", "html_content": '<p>"it\'s" & <b>so</b></p>'}
    fields["text_content"] = "\n first line empty\n  indented\n"

    page = window.post(**fields)

    # The form must not use URL encoding, in which one Chinese character takes nine bytes.
    for shown in (page, window.get()):
        assert shown.form_with("title").enctype == "multipart/form-data"
    again = page.form_with("title").fields
    for name in ("idempotency_key", "title", "html_content", "text_content"):
        assert again[name] == fields[name]
    assert window.post(**{**again, "title": "Swifts"}).status == 303


def test_a_letter_may_be_text_alone_or_html_alone(window, three_readers):
    assert window.publish(html_content="").status == 303
    assert window.publish(text_content="").status == 303
    assert Edition.objects.count() == 2


def test_a_hostile_title_is_text_on_every_page(window, three_readers):
    hostile = '"><script>alert(1)</script>'
    assert window.publish(title=hostile).status == 303
    issue = written().get()

    for address in (
        "/admin/newsletters/issues/",
        f"/admin/newsletters/{issue.pk}/",
        "/archive/",
        f"/archive/{issue.slug}/",
        "/archive/feed.xml",
    ):
        page = window.get(address)
        assert page.status == 200
        assert "<script>alert" not in page.html
        assert "&lt;script&gt;alert(1)" in page.html
    errors = window.publish(title=hostile + "{{ x }}")
    assert "<script>alert" not in errors.html


def test_every_desk_page_follows_the_content_security_policy(window, three_readers):
    window.publish()
    issue = written().get()

    for address in (FORM, "/admin/newsletters/issues/", f"/admin/newsletters/{issue.pk}/"):
        page = window.get(address)
        assert "default-src 'self'" in page.answer["Content-Security-Policy"]
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page.html)


def test_too_large_form_is_refused_with_a_sentence(window):
    # The browser may keep the form's page, so an author who goes back finds the text again.
    assert "no-store" not in window.get().answer.get("Cache-Control", "")
    page = window.publish(text_content="x" * 13_000_000)

    assert page.status == 413
    assert "12.4 MB, and the limit is 12 MB" in page.words
    assert nothing_was_published()


def test_longest_parts_are_accepted_in_any_script(window):
    # Each character has 4 bytes, the maximum in UTF-8.
    page = window.publish(
        html_content="\U0001f54a" * 1_000_000, text_content="\U0001f54a" * 1_000_000
    )

    assert page.status == 303
    assert len(Edition.objects.get().text_content) == 1_000_000


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("issue", "Enter a valid UUID"),
        ("version", "Enter a whole number"),
        ("unlisted", "Select a valid choice"),
        ("goes_to", "Select a valid choice"),
        ("with_tags", "A tag of the audience was deleted"),
    ],
)
@pytest.mark.parametrize("value", ["nobody\0", "swifts", "-7.5"])
def test_unreadable_choice_is_named_and_keeps_the_text(window, name, value, sentence):
    fields = {**window.open_form(), name: value}
    for address, status in ((FORM, 200), (f"{FORM}drafts/", 400)):
        if name == "version" and status == 400:
            continue  # a draft has no such field
        page = window.post(address, **fields)
        assert page.status == status
        assert page.words.count(sentence) == 1
        again = page.form_with("title").fields
        for kept in (*LETTER, "idempotency_key"):
            assert again[kept] == fields[kept]
        # If the value of `unlisted` cannot be read, the form returns with “Unlisted” chosen, so
        # that no issue becomes public by mistake.
        assert again["unlisted"] == ("on" if name == "unlisted" else "")
    assert nothing_was_published()
    assert not Draft.objects.exists()


def test_two_too_long_parts_return_complete_with_their_errors(window):
    page = window.publish(html_content="漢" * 1_900_000, text_content="漢" * 1_900_000)

    assert refused(page, "the limit is 1,000,000")
    assert page.words.count("1,900,000 characters") == 4  # in the summary and at the field
    assert len(page.form_with("title").fields["text_content"]) == 1_900_000


def to_the_check_sheet(window, **changes):
    """Fill in the form, press its button to the check sheet, and return the answer."""
    form = window.get().form_with("title")
    fields = {**form.fields, **LETTER, "then": "check", **changes}
    return fields, window.post(form.action, **fields)


def question(window, checked):
    """Open the confirmation page that the check sheet links to, and return its form."""
    sheet = checked.answer["Location"]
    assert window.get(sheet).status == 200
    return window.get(f"{sheet.removesuffix('check/')}publish/?when=now").form_with("revision")


def test_finished_html_is_published_from_the_check_sheet(window, three_readers):
    fields, checked = to_the_check_sheet(window, title="TODO {{ name|there }}")

    assert checked.status == 303
    assert nothing_was_published()
    sheet = window.get(checked.answer["Location"])
    assert "“TODO” looks like a forgotten note (title)" in sheet.words
    asked = question(window, checked)
    answers = [window.post(asked.action, **asked.fields) for _ in range(2)]
    issue = written().get().pk
    assert {(one.status, one.answer["Location"]) for one in answers} == {
        (303, f"{FORM}{issue}/?version=1")
    }
    assert Draft.objects.get().edition == Edition.objects.get()

    # Post the same text with the same key to the publishing form.
    page = window.post(**fields)
    assert page.status == 422
    assert "This draft was already scheduled" in page.words or "already published" in page.words
    assert "other content" not in page.words
    assert Edition.objects.count() == 1


def test_a_post_ignores_choices_of_a_draft_under_its_key(window, three_readers):
    fields, _ = to_the_check_sheet(window)
    place = f"{FORM}drafts/{Draft.objects.get().pk}/"
    window.post(f"{place}archive/", choice="none", base="1")
    window.client.post(f"{place}address/", {"address": "mine"}, secure=True)

    answers = [window.post(**fields) for _ in range(2)]

    assert {(one.status, one.answer["Location"]) for one in answers} == {(303, FORM)}
    edition = Edition.objects.get()
    assert (edition.issue.visibility, edition.issue.slug) == (
        "public",
        "swifts-leave-without-saying-goodbye",
    )
    assert Draft.objects.get().edition == edition  # the draft has no unpublished text


def test_a_post_publishes_its_text_and_keeps_the_draft(window, new_author, three_readers):
    fields, checked = to_the_check_sheet(window)
    draft = Draft.objects.get()
    edited = replace(draft.fields, text="From the composer.")
    save_draft.save(draft.pk, draft.revision, edited, by=window.author.pk)
    tomas = WindowOf(new_author("tomas"))
    theirs = question(tomas, checked)

    assert window.post(**{**fields, "text_content": "Better words."}).status == 303

    edition = Edition.objects.get()
    assert edition.text_content == "Better words."
    assert Draft.objects.get(pk=draft.pk).edition == edition
    assert Draft.objects.get(edition=None).text == "From the composer."
    met = tomas.post(theirs.action, **theirs.fields)
    assert "published by Edith Marlow" in tomas.get(met.answer["Location"]).words
    assert window.post(**fields).status == 422  # the key belongs to other content
    assert Edition.objects.get() == edition


def test_form_saved_after_its_script_leads_to_the_edition(window, three_readers):
    fields = {**window.open_form(), "then": "check"}
    assert window.post(**fields).status == 303

    same = window.post(f"{FORM}drafts/", **fields)
    other = window.post(f"{FORM}drafts/", **{**fields, "text_content": "Better words."})

    assert same.answer["Location"] == f"{FORM}{written().get().pk}/?version=1"
    assert other.status == 409
    assert Draft.objects.get().edition == Edition.objects.get()


@pytest.mark.parametrize("text", ["", "Better words."])
def test_script_waits_for_a_colleague_and_publishes_nothing(
    window, new_author, three_readers, text
):
    fields, _ = to_the_check_sheet(window)
    tomas, draft = new_author("tomas"), Draft.objects.get()
    agreed = Confirmation(draft.revision, build_content(draft.fields).sha256, 1, moment=None)
    with transaction.atomic():
        publish_draft(tomas.pk, draft.pk, agreed)
        script = beside(
            lambda: window.post(**{**fields, "text_content": text or LETTER["text_content"]})
        )
        wait_until_somebody_waits(script)

    assert script.result(PATIENCE_S).status == (422 if text else 303)
    assert Edition.objects.get().author == tomas


def test_first_save_waits_for_a_script_under_its_key(window, author, three_readers):
    key = fresh_key()
    with transaction.atomic():
        publish(author.pk, key, letter(), hold_s=0)
        saved = beside(lambda: window.post(f"{FORM}drafts/", **LETTER, idempotency_key=key))
        wait_until_somebody_waits(saved)

    assert saved.result(PATIENCE_S).status in {303, 409}
    assert Draft.objects.get().edition == Edition.objects.get()


def test_first_save_of_a_correction_waits_without_the_issue(window, author, three_readers):
    issue = publish(author.pk, fresh_key(), letter(), hold_s=0).edition.issue_id
    key = fresh_key()
    fields = LETTER | {"idempotency_key": key, "issue": str(issue), "version": "2"}
    with transaction.atomic():
        lock_by_key(author.pk, key)
        saved = beside(lambda: window.post(f"{FORM}drafts/", **fields))
        wait_until_somebody_waits(saved)
        # A publication with the same key locks the issue at this moment.
        Issue.objects.select_for_update(nowait=True).get(pk=issue)

    assert saved.result(PATIENCE_S).status == 303


def test_database_links_a_drafts_key_to_one_edition(window, three_readers):
    window.publish()
    edition = Edition.objects.get()
    with pytest.raises(IntegrityError, match="one edition"):
        Draft.objects.create(key=edition.idempotency_key, created_by=edition.author)
    draft = Draft.objects.create(created_by=edition.author)
    edition.pk, edition.version, edition.idempotency_key = None, 2, draft.key
    with pytest.raises(IntegrityError, match="one edition"):
        edition.save(force_insert=True)
