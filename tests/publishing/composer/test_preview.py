"""The preview shows what will be sent, but runs no scripts and posts no forms."""

import json
import re
import uuid
from html import unescape

import pytest

from delivery.models import Edition
from delivery.worker.step import renderer_of
from idempotency.key import fresh_key
from publishing.content.draft_content import HTML, MARKDOWN, DraftFields, build_content
from publishing.drafts import save_draft
from publishing.models import Draft
from publishing.publish.publish_edition import publish
from subscribers.models import Subscriber, Tag
from tests.publishing.author_browser import LETTER, WindowOf

pytestmark = pytest.mark.django_db(transaction=True)

PREVIEW = "/admin/newsletters/preview/"
WORDS = DraftFields(
    title="For {{ name }}",
    preview_text="Dear {{ name|reader }}, quite.",
    format=MARKDOWN,
    letter="Dear {{ name|reader }},\n\n**gone** to [the archive]({{ archive_url }}).",
)


def preview(author, words: DraftFields = WORDS) -> str:
    """Create a draft with this text, and return the URL of its preview."""
    draft = save_draft.create(author.pk, fresh_key(), words).draft
    return f"/admin/newsletters/drafts/{draft.pk}/preview/"


def policy_of(page) -> dict[str, str]:
    """Return the directives of the page's Content-Security-Policy."""
    given = page.answer["Content-Security-Policy"].split(";")
    return {name: rest.strip() for name, _, rest in (one.strip().partition(" ") for one in given)}


def test_preview_is_the_mail_of_the_first_reader(window, author, three_readers):
    shown = json.loads(
        window.client.get(
            preview(author), secure=True, headers={"Accept": "application/json"}
        ).content
    )
    edition = publish(author.pk, fresh_key(), build_content(WORDS), hold_s=0).edition
    edition.archive_url = "https://letter.example.org/archive/"
    ada = Subscriber.objects.get(name="Ada")
    [sent] = json.loads(renderer_of(edition).body([(ada.pk, ada.email, ada.name)], author.pk))

    def without_tokens(mail: str) -> str:
        return re.sub(r"/unsubscribe/[^/]+/", "/unsubscribe/x/", mail)

    assert shown["subject"] == sent["Subject"] == "For Ada"
    assert without_tokens(shown["html"]) == without_tokens(sent["HtmlBody"])
    assert without_tokens(shown["text"]) == without_tokens(sent.get("TextBody", ""))


def test_links_in_a_preview_do_not_change_readers(window, author, three_readers):
    Tag.objects.create(name="Birds", is_topic=True)
    page = window.get(preview(author))

    for target in ("unsubscribe", "preferences"):
        pattern = rf'href="https://letter\.example\.org(/{target}/[^"]+)"'
        (link,) = set(re.findall(pattern, page.html))
        assert WindowOf(None).post(link).status == 404

    assert Subscriber.objects.filter(state="confirmed").count() == 3


def test_preview_runs_no_scripts_or_forms(window, author):
    page = window.get(preview(author))
    policy = policy_of(page)

    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["frame-ancestors"] == "'self'"
    assert page.answer["X-Frame-Options"] == "SAMEORIGIN"
    assert page.answer["Cache-Control"] == "no-store"
    assert "script-src" not in policy
    assert not {"allow-scripts", "allow-forms", "allow-top-navigation"} & set(
        policy["sandbox"].split()
    )


def test_composer_frame_allows_no_more_than_the_response(window, author):
    address = preview(author)
    frame = re.search(
        r'<iframe[^>]* sandbox="([^"]*)"', window.get(address.removesuffix("preview/")).html
    )

    assert set(frame[1].split()) == set(policy_of(window.get(address))["sandbox"].split())


def test_the_text_part_is_plain_text(window, author):
    written = DraftFields(
        title="Gone", format=HTML, letter="<p>x</p>", text="<b>Not bold</b>, {{ name }}"
    )
    page = window.get(f"{preview(author, written)}?part=text")

    assert page.answer["Content-Type"] == "text/plain; charset=utf-8"
    assert page.html.startswith("<b>Not bold</b>, Ada Whitlock")
    assert policy_of(page)["default-src"] == "'none'"


def test_preview_of_posted_fields_matches_the_mail(window):
    page = window.post(PREVIEW, **LETTER)
    text = window.post(PREVIEW, **LETTER, part="text")
    fields = {"title": "Gone", "format": "markdown", "letter": "They *have*.", "text_content": ""}
    composers = window.client.post(
        PREVIEW, fields, secure=True, headers={"Accept": "application/json"}
    ).json()
    assert "<em" in composers["html"]
    assert not Edition.objects.filter(kind="newsletter").exists()

    assert "<p>they have gone.</p>" in re.sub(r'(<p) style="[^"]*"', r"\1", page.html)
    assert text.html.startswith("Dear Ada Whitlock,")


def test_an_unsaved_next_version_can_be_previewed(window, author, three_readers):
    first = publish(author.pk, fresh_key(), build_content(WORDS), hold_s=0).edition
    composer = window.get(f"/admin/newsletters/write/?issue={first.issue_id}")
    (frame,) = re.findall(r'<iframe [^>]*src="([^"]+)"', composer.html)

    shown = window.get(unescape(frame))
    text = window.get(unescape(frame).replace("part=html", "part=text"))

    assert not Draft.objects.exists()
    saved = save_draft.open_for_issue(author.pk, first.issue_id)
    as_saved = window.get(f"/admin/newsletters/drafts/{saved.pk}/preview/?part=html")
    assert shown.html == as_saved.html
    assert "Dear Ada" in text.html
    assert policy_of(shown) == policy_of(as_saved)


@pytest.mark.parametrize("named", ["", "?issue=x", f"?issue={uuid.UUID(int=7)}"])
def test_next_version_preview_of_unknown_issue_is_404(window, named):
    assert window.get(f"/admin/newsletters/write/preview/{named}").status == 404


@pytest.mark.parametrize("headers", [{}, {"Accept": "application/json"}])
def test_too_long_letter_is_not_rendered(window, headers):
    fields = {"format": "markdown", "letter": "w" * 250_001}

    answer = window.client.post(PREVIEW, fields, secure=True, headers=headers)

    assert answer.status_code == 400
    assert "the limit is 250,000" in answer.content.decode()


def test_author_without_reader_permission_sees_an_invented_reader(new_author, three_readers):
    writer = WindowOf(new_author("willa", "write_draft"))
    address = preview(writer.author)

    pages = [
        writer.get(address),
        writer.get(address.removesuffix("preview/")),
        writer.post(PREVIEW, **LETTER),
    ]

    for page in pages:
        assert "ada@posthouse.example" not in page.html
        assert "Dear Ada," not in page.words
    assert "ada.whitlock@posthouse.example" in pages[1].words
    assert "Dear Ada Whitlock" in pages[0].words
