"""An issue may have a different address for replies than the newsletter."""

import orjson
import pytest
from django.core.management import call_command
from django.urls import reverse

from delivery.interface import renderer_of
from delivery.models import Edition, Newsletter
from idempotency.key import fresh_key
from publishing.content.draft_content import DraftFields, build_content
from publishing.drafts import save_draft
from publishing.publish.publish_edition import publish
from publishing.test_letters.send_test_letter import send_test
from tests.newsletter_site.api_caller import Program

pytestmark = pytest.mark.django_db(transaction=True)

TYPED, REPLY_TO = " Editor@Tides.Example.ORG ", "Editor@tides.example.org"
WORDS = DraftFields(title="Tides", letter="High water.", reply_to=TYPED)


@pytest.fixture(autouse=True)
def newsletter() -> None:
    """Give the newsletter an address for replies that is not its sender."""
    Newsletter.objects.get_current()
    Newsletter.objects.update(reply_to="desk@tides.example.org")


def replies_go_to(edition: Edition) -> str:
    """Return the address for replies in the message to a reader."""
    call = renderer_of(edition).body([(1, "ada@posthouse.example.org", "Ada")], edition.issue_id)
    return str(orjson.loads(call)[0]["ReplyTo"])


def test_replies_go_to_the_address_of_the_issue(author, three_readers):
    for fields, expected in ((WORDS, REPLY_TO), (DraftFields(title="A", letter="B"), "desk@")):
        edition = publish(author.pk, fresh_key(), build_content(fields), hold_s=0).edition
        assert replies_go_to(edition).startswith(expected)
    number = send_test(author.pk, build_content(WORDS), "me@posthouse.example.org")
    assert replies_go_to(Edition.objects.get(kind="test", version=number)) == REPLY_TO


def test_check_sheet_and_preview_say_where_replies_go(window, author):
    draft = save_draft.create(author.pk, fresh_key(), WORDS).draft
    assert f"Replies go to {REPLY_TO}" in window.get(reverse("desk:check", args=[draft.pk])).words
    composer = window.get(reverse("desk:draft", args=[draft.pk]))
    assert f"Replies go to {REPLY_TO}" in composer.words
    assert composer.form_with("title").fields["reply_to"] == TYPED


def test_a_correction_keeps_the_address(author, three_readers):
    first = publish(author.pk, fresh_key(), build_content(WORDS), hold_s=0).edition
    assert save_draft.fields_for_next_version(first.issue_id).reply_to == REPLY_TO


def test_an_address_that_is_none_is_refused_at_its_field(window, three_readers):
    page = window.publish(reply_to="the desk")
    assert 'href="#id_reply_to"' in page.html
    assert not Edition.objects.exists()


def test_call_and_command_take_the_address(author, three_readers, tmp_path):
    content = {"title": "By call", "text": "Gone.", "reply_to": TYPED}
    program = Program(author)
    assert program.post("/issues/", content).status_code == 201
    refused = program.post("/issues/", {**content, "reply_to": "the desk"})
    assert refused.json()["errors"][0]["field"] == "reply_to"

    text = tmp_path / "letter.txt"
    text.write_text("Gone.")
    call_command("publish", "--title=By command", f"--text-file={text}", f"--reply-to={TYPED}",
                 "--author=edith")  # fmt: skip
    assert [edition.reply_to for edition in Edition.objects.all()] == [REPLY_TO] * 2
