"""A draft is created once, and saved only over the revision that the form shows."""

import re
import uuid

import pytest
from django.contrib.admin.models import LogEntry
from django.db import transaction

from idempotency.key import fresh_key
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.content.draft_content import HTML, MARKDOWN, DraftFields, build_content
from publishing.drafts import save_draft
from publishing.drafts.save_draft import MOST_UNTOUCHED
from publishing.models import Draft
from tests.publishing import edition_states
from tests.publishing.content_factory import letter
from tests.publishing.publish_with import publish
from tests.publishing.schedule_issue import tomorrow
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)

WRITE = "/admin/newsletters/write/"
DRAFTS = "/admin/newsletters/drafts/"
ISSUES = "/admin/newsletters/issues/"


def wording(letter: str = "They have gone.", **words: str) -> DraftFields:
    """Return the fields of a draft. A test gives only the values that matter to it."""
    return DraftFields(
        title=words.get("title", "Swifts"),
        preview_text=words.get("preview_text", ""),
        format=words.get("format", MARKDOWN),
        letter=letter,
        text=words.get("text", ""),
    )


def begun(author, letter: str = "They have gone.", **words: str) -> Draft:
    """Create a draft by its first save."""
    return save_draft.create(author.pk, fresh_key(), wording(letter, **words)).draft


def as_json(window, address: str, **fields: str):
    """Post a form as the page's script does."""
    return window.client.post(address, fields, secure=True, headers={"Accept": "application/json"})


class TestBeginning:
    def test_repeated_first_save_creates_one_draft(self, author):
        key = fresh_key()

        first = save_draft.create(author.pk, key, wording())
        again = save_draft.create(author.pk, key, wording())
        other = save_draft.create(author.pk, key, wording("Two."))

        assert first.is_saved
        assert again.is_saved
        assert first.draft.pk == again.draft.pk
        assert not other.is_saved
        assert Draft.objects.get().letter == "They have gone."
        assert plain_sentence_of(LogEntry.objects.get()) == "Edith Marlow started the draft Swifts."


class TestSaving:
    def test_saving_increases_the_revision_and_names_the_author(self, author, new_author):
        draft, ines = begun(author), new_author("ines")

        answer = save_draft.save(draft.pk, 1, wording("Two."), by=ines.pk)

        assert answer.is_saved
        assert (answer.draft.revision, answer.draft.letter) == (2, "Two.")
        assert answer.draft.saved_by == ines
        # Saving the same text changes nothing, even if the form has an older revision.
        for revision in (0, 1, 2):
            again = save_draft.save(draft.pk, revision, wording("Two."), by=author.pk)
            assert again.is_saved
            assert again.draft.revision == 2

    def test_author_who_continues_a_draft_is_recorded_once(self, author, new_author):
        draft, ines = begun(author), new_author("ines")
        LogEntry.objects.all().delete()

        save_draft.save(draft.pk, 1, wording("Two."), by=author.pk)
        save_draft.save(draft.pk, 2, wording("Three."), by=ines.pk)
        save_draft.save(draft.pk, 3, wording("Four."), by=ines.pk)

        assert [entry.user for entry in LogEntry.objects.all()] == [ines]


class TestTheNextVersionOfAnIssue:
    def test_the_next_draft_of_a_markdown_letter_is_markdown(self, author):
        draft = begun(author, "# Gone\n\nThey *have*.", preview_text="Quite.")
        content = build_content(draft.fields)
        edition = publish(author.pk, draft.key, content, hold_s=0).edition
        Draft.objects.update(edition=edition)

        following = save_draft.open_for_issue(author.pk, edition.issue_id)

        assert following.pk != draft.pk
        assert following.fields == draft.fields
        assert following.issue_id == edition.issue_id

    def test_restored_html_draft_keeps_its_html_and_plain_text(self, author):
        edition = publish(author.pk, fresh_key(), letter(text="My own words."), hold_s=0).edition

        following = save_draft.open_for_issue(author.pk, edition.issue_id)

        assert (following.format, following.letter) == (HTML, edition.html_content)
        assert following.text == "My own words."
        assert build_content(following.fields) == letter(text="My own words.")

    def test_second_form_for_the_next_version_finds_open_draft(self, author):
        issue = publish(author.pk, fresh_key(), letter(), hold_s=0).edition.issue_id
        save_draft.open_for_issue(author.pk, issue)

        answer = save_draft.create(author.pk, fresh_key(), wording("Mine."), issue=issue)

        assert not answer.is_saved
        assert Draft.objects.count() == 1


class TestAtTheSameMoment:
    """Two calls at the same moment, each on a separate connection."""

    def test_second_save_from_one_revision_is_a_conflict(self, author):
        draft = begun(author)

        with transaction.atomic():
            mine = save_draft.save(draft.pk, 1, wording("Mine."), by=author.pk)
            other = beside(lambda: save_draft.save(draft.pk, 1, wording("Theirs."), by=author.pk))
            wait_until_somebody_waits()
        answer = other.result(PATIENCE_S)

        assert mine.is_saved
        assert not answer.is_saved
        assert answer.draft.letter == Draft.objects.get().letter == "Mine."
        assert Draft.objects.get().revision == 2

    def test_two_first_saves_under_one_key_create_one_draft(self, author):
        key = fresh_key()

        with transaction.atomic():
            save_draft.create(author.pk, key, wording("Mine."))
            other = beside(lambda: save_draft.create(author.pk, key, wording("Theirs.")))
            wait_until_somebody_waits()

        assert not other.result(PATIENCE_S).is_saved
        assert Draft.objects.get().letter == "Mine."

    def test_two_authors_of_the_next_version_share_one_draft(self, author, new_author):
        issue = publish(author.pk, fresh_key(), letter(), hold_s=0).edition.issue_id
        ines = new_author("ines")

        with transaction.atomic():
            mine = save_draft.open_for_issue(author.pk, issue)
            other = beside(lambda: save_draft.open_for_issue(ines.pk, issue))
            wait_until_somebody_waits()

        assert other.result(PATIENCE_S).pk == mine.pk
        assert Draft.objects.count() == 1

    def test_a_draft_is_not_saved_while_it_is_deleted(self, author):
        draft = begun(author)

        with transaction.atomic():
            save_draft.delete_draft(draft.pk, by=author.pk)
            other = beside(lambda: save_draft.save(draft.pk, 1, wording("Theirs."), by=author.pk))
            wait_until_somebody_waits()

        assert other.result(PATIENCE_S).draft is None
        assert not Draft.objects.exists()


class TestThePages:
    def test_a_saved_draft_is_shown_again(self, window):
        form = window.get(WRITE).form_with("letter")
        saved = window.post(form.action, **{**form.fields, "title": "Swifts", "letter": "Gone."})
        assert saved.status == 303
        draft = Draft.objects.get()
        assert saved.answer["Location"] == f"{DRAFTS}{draft.pk}/"

        page = window.get(saved.answer["Location"])
        fields = page.form_with("letter").fields
        assert (fields["title"], fields["letter"]) == ("Swifts", "Gone.")
        assert "Edith Marlow" in page.words

        changed = window.post(saved.answer["Location"], **{**fields, "letter": "Gone for good."})
        assert changed.status == 303
        assert Draft.objects.get().fields.letter == "Gone for good."

    def test_line_ends_come_back_as_they_were_written(self, window, author):
        draft = begun(author, "\n\nA line.\n\n<b>&amp;</b>\n")

        fields = window.get(f"{DRAFTS}{draft.pk}/").form_with("letter").fields
        window.post(
            f"{DRAFTS}{draft.pk}/", **{**fields, "letter": fields["letter"].replace("\n", "\r\n")}
        )

        assert Draft.objects.get().letter == "\n\nA line.\n\n<b>&amp;</b>\n"
        assert Draft.objects.get().revision == 1

    def test_script_gets_save_result_and_conflicts(self, window, author):
        draft = begun(author)
        address = f"{DRAFTS}{draft.pk}/"

        saved = as_json(window, address, revision="1", title="Swifts", letter="Two words.")
        late = as_json(window, address, revision="1", letter="Mine.")

        returned = saved.json()
        assert saved.status_code == 200
        assert (returned["revision"], returned["address"]) == (2, address)
        assert returned["subject"] == "Swifts"
        assert returned["count"].startswith("2 words · 1 minute")
        returned = late.json()
        assert late.status_code == 409
        assert (returned["revision"], returned["present"]["letter"]) == (2, "Two words.")
        assert Draft.objects.get().revision == 2

    def test_two_tabs_see_their_conflict(self, window, author):
        draft = begun(author)
        address = f"{DRAFTS}{draft.pk}/"
        fields = window.get(address).form_with("letter").fields
        window.post(address, **{**fields, "letter": "One\nthing"})

        page = window.post(address, **{**fields, "letter": "One\nother thing"})

        assert page.status == 409
        assert "<mark>thing</mark>" in page.html
        assert "<mark>other thing</mark>" in page.html
        assert Draft.objects.get().letter == "One\nthing"

        mine = page.form_with("beside")
        assert window.post(mine.action, **mine.fields).status == 303
        assert {one.letter for one in Draft.objects.all()} == {"One\nthing", "One\nother thing"}

        instead = page.form_with("revision")
        assert window.post(instead.action, **instead.fields).status == 303
        assert Draft.objects.get(pk=draft.pk).letter == "One\nother thing"

    @pytest.mark.parametrize("done", ["published", "scheduled"])
    def test_published_draft_redirects_to_its_issue(self, window, author, done):
        draft = begun(author)
        at = tomorrow() if done == "scheduled" else None
        edition = publish(author.pk, draft.key, letter(), hold_s=0, at=at, draft=draft).edition
        address = f"{DRAFTS}{draft.pk}/"

        assert f"/{edition.issue_id}/" in window.get(address).answer["Location"]
        page = window.post(address, revision="1", title="Swifts", letter="Since then.")
        assert page.status == 409
        assert f"This draft was {done}" in page.words
        assert "Since then." in page.words

    def test_too_long_text_is_kept_on_page_and_not_saved(self, window):
        form = window.get(WRITE).form_with("letter")
        page = window.post(form.action, **{**form.fields, "letter": "x" * 250_001})

        assert page.status == 400
        assert "250,001 characters; the limit is 250,000" in page.words
        assert len(page.form_with("letter").fields["letter"]) == 250_001
        assert not Draft.objects.exists()
        # A letter in HTML may be longer than a letter in Markdown.
        html = {**form.fields, "format": "html", "letter": "x" * 250_001}
        assert window.post(form.action, **html).status == 303

    def test_deleting_a_draft_asks_first_and_is_logged(self, window, author):
        draft = begun(author)
        address = f"{DRAFTS}{draft.pk}/delete/"
        assert "“Swifts”" in window.get(address).words
        assert Draft.objects.exists()

        assert window.post(address).status == 303

        assert not Draft.objects.exists()
        assert "Edith Marlow deleted the draft Swifts." in {
            plain_sentence_of(one) for one in LogEntry.objects.all()
        }

    def test_html_instead_of_markdown_and_back_loses_no_character(self, window, author):
        draft = begun(author, "They *have* gone.")
        address = f"{DRAFTS}{draft.pk}/"
        in_html = "<p>They <em>have</em> gone.</p>\n"

        window.post(address, **window.get(address).form_with("letter").fields | {"then": "html"})
        now = Draft.objects.get()
        assert (now.format, now.letter) == (HTML, in_html)

        fields = window.get(address).form_with("html_content").fields
        asked = window.post(address, **fields | {"then": "markdown"}).answer["Location"]
        assert Draft.objects.get().format == HTML
        window.post(asked, **window.get(asked).form_with("revision").fields)
        now = Draft.objects.get()
        assert (now.format, now.letter) == (MARKDOWN, in_html)

    def test_unchanged_text_posted_signed_out_creates_no_second_draft(self, window, new_author):
        draft = begun(new_author("ines"))
        form = window.get(f"{DRAFTS}{draft.pk}/").form_with("letter")
        window.client.logout()

        led = window.post(form.action, **form.fields).answer["Location"]
        assert f"{DRAFTS}{draft.pk}/" in led
        assert Draft.objects.count() == 1

        window.post(form.action, **{**form.fields, "letter": "Gone on with."})
        kept = Draft.objects.exclude(pk=draft.pk).get()
        assert (kept.letter, kept.created_by) == ("Gone on with.", window.author)
        window.client.force_login(window.author)
        page = window.get(f"{DRAFTS}{kept.pk}/?signed_out=")
        assert "Your text is saved in this draft" in page.words

    def test_text_stays_on_page_beyond_limit_of_signed_out_drafts(self, window, new_author):
        begun(new_author("ines"))
        form = window.get(WRITE).form_with("letter")
        window.client.logout()

        def post(number: int):
            words = {"letter": f"\nLetter {number} & <more>", "idempotency_key": fresh_key()}
            return window.post(form.action, **{**form.fields, **words})

        for number in range(MOST_UNTOUCHED):
            assert post(number).status == 302
        page = post(MOST_UNTOUCHED)

        assert page.status == 429
        assert Draft.objects.filter(created_by=window.author).count() == MOST_UNTOUCHED
        # At the limit, a repeated post of an existing draft's form still redirects to that draft.
        # A draft that was saved twice no longer counts for the limit of untouched drafts.
        assert post(0).status == 302
        again = page.form_with("letter")
        window.client.force_login(window.author)
        assert window.post(again.action, **again.fields).status == 303
        newest = Draft.objects.get(letter=f"\nLetter {MOST_UNTOUCHED} & <more>")
        save_draft.save(newest.pk, 1, wording("On."), by=window.author.pk)
        first = Draft.objects.get(letter="\nLetter 0 & <more>")
        save_draft.save(first.pk, 1, wording("Gone on with."), by=window.author.pk)
        window.client.logout()
        assert post(MOST_UNTOUCHED + 1).status == 302

    @pytest.mark.parametrize("button", ["beside", "revision"])
    def test_conflicting_text_posted_signed_out_is_kept(self, window, author, button):
        draft = begun(author)
        form = window.get(f"{DRAFTS}{draft.pk}/").form_with("letter")
        save_draft.save(draft.pk, 1, wording("Theirs."), by=author.pk)
        mine = window.post(form.action, **{**form.fields, "letter": "Mine."}).form_with(button)
        window.client.logout()

        window.post(mine.action, **mine.fields)

        assert Draft.objects.exclude(pk=draft.pk).get().letter == "Mine."

    def test_the_next_version_is_written_in_the_composer(self, window, author, three_readers):
        edition = publish(author.pk, fresh_key(), letter(), hold_s=0).edition
        edition_states.sent(edition, "Ada")

        form = window.get(f"{WRITE}?issue={edition.issue_id}").form_with("title")
        saved = window.post(form.action, **{**form.fields, "goes_to": "reached"})

        draft = Draft.objects.get()
        assert (draft.issue_id, draft.goes_to) == (edition.issue_id, "reached")
        for again in (window.get(f"{WRITE}?issue={edition.issue_id}"),
                      window.post(WRITE, issue=str(edition.issue_id))):  # fmt: skip
            assert again.answer["Location"] == saved.answer["Location"]
        assert window.get(f"{WRITE}?issue={uuid.uuid4()}").status == 404
        assert window.get(f"{DRAFTS}{uuid.uuid4()}/").status == 404

    def test_script_saves_no_text_under_another_authors_name(self, window, author, new_author):
        draft = begun(author)
        fields = window.get(f"{DRAFTS}{draft.pk}/").form_with("letter").fields
        # The page of the first author stays open while another author signs in with the same
        # browser.
        window.client.force_login(new_author("willa", "write_draft"))

        for address in (f"{DRAFTS}{draft.pk}/", DRAFTS):
            answer = as_json(window, address, **{**fields, "letter": "Written by Edith."})
            assert answer.status_code == 403

        assert Draft.objects.get().letter == "They have gone."

    def test_letter_pasted_into_the_title_is_shortened_on_pages(self, window, author):
        draft = begun(author, title="A word and " * 20_000)

        for address in (ISSUES, f"{DRAFTS}{draft.pk}/delete/"):
            assert len(window.get(address).html) < 100_000
        assert window.get(f"{DRAFTS}{draft.pk}/").form_with("title").fields["title"] == draft.title


def test_an_unknown_field_is_named_with_its_line(window):
    letter = "Dear {{ name }}, `{{ city }}`\n\nfrom {{ city }}.\n{{ nmae|you }} and {{ city }}\n"
    fields = {"title": "For {{ who }}", "letter": letter, "idempotency_key": "k"}
    saved = window.client.post(
        "/admin/newsletters/drafts/", fields, secure=True, headers={"Accept": "application/json"}
    ).json()

    places = re.compile(r"<b>(Line \d+):</b>|data-find=\"([^\"]*)\"")
    assert places.findall(saved["hints"]["letter"]) == [
        ("Line 3", ""),
        ("", "{{ city }}"),
        ("Line 4", ""),
        ("", "{{ nmae|you }}"),
    ]
    assert 'data-find="{{ city }}" data-before="1"' in saved["hints"]["letter"]
    assert places.findall(saved["hints"]["title"]) == [("", "{{ who }}")]
    page = window.get(saved["address"])
    assert "Line 3: There is no merge field “{{ city }}”" in page.words
    assert 'data-find="{{ nmae|you }}"' in page.html
