"""Tags limit the readers of an issue."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils.html import strip_tags

from delivery.models import Delivery, Edition
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.approval.record_approval import approval_hash
from publishing.content.draft_content import DraftFields
from publishing.drafts import save_draft
from publishing.editions.audience import TagChoice
from publishing.editions.versions import VersionRefusedError
from publishing.models import Draft
from publishing.publish.publish_edition import KeyUsedForOtherContentError
from subscribers.field_and_tag_settings.change_fields_and_tags import TagInUseError, delete_tag
from subscribers.models import Subscriber, Tag
from tests.delivery.edition_factory import Newsroom
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import sent
from tests.publishing.publish_with import publish
from tests.publishing.schedule_issue import tomorrow
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tags(three_readers: list[Subscriber]) -> tuple[Tag, Tag]:
    """Create tags: Ada and Bram have “birds”, Bram and Cleo have “fish”."""
    birds, fish = (Tag.objects.create(name=name, is_topic=True) for name in ("Birds", "Fish"))
    ada, bram, cleo = three_readers
    for reader, theirs in ((ada, [birds.pk]), (bram, [birds.pk, fish.pk]), (cleo, [fish.pk])):
        Subscriber.objects.filter(pk=reader.pk).update(tags=theirs)
    return birds, fish


def choice(with_tags: tuple[Tag, ...] = (), without: tuple[Tag, ...] = ()) -> TagChoice:
    return TagChoice(
        tuple((tag.pk, tag.name) for tag in with_tags), tuple((tag.pk, tag.name) for tag in without)
    )


def recipients(edition: Edition) -> set[str]:
    copies = Delivery.objects.filter(issue=edition.issue_id, version=edition.version)
    return {address.split("@")[0] for address in copies.values_list("address", flat=True)}


def test_tags_choose_the_readers(author: Any, tags: tuple[Tag, Tag]) -> None:
    birds, fish = tags
    for number, (chosen, readers) in enumerate(
        [
            (choice((birds, fish)), {"ada", "bram", "cleo"}),
            (choice((birds,)), {"ada", "bram"}),
            (choice((birds,), (fish,)), {"ada"}),
            (choice((), (birds,)), {"cleo"}),
        ]
    ):
        content = letter(title=f"Number {number}")
        edition = publish(author.pk, f"{number}", content, hold_s=0, tags=chosen).edition
        assert recipients(edition) == readers
        assert edition.audience == len(readers)


def test_pages_and_log_state_the_tags(window: WindowOf, author: Any, tags: tuple[Tag, Tag]) -> None:
    edition = publish(author.pk, "k", letter(), hold_s=0, tags=choice((tags[0],))).edition
    page = window.get(f"/admin/newsletters/{edition.issue_id}/").words
    assert "Audience: all confirmed readers with “Birds”." in page
    (entry,) = LogEntry.objects.filter(object_id=str(edition.issue_id))
    audience = "Audience: all confirmed readers with “Birds”."
    assert plain_sentence_of(entry).endswith(f"{audience} It is unlisted.")


def test_the_audience_is_as_it_was_at_publication(author: Any, tags: tuple[Tag, Tag]) -> None:
    edition = publish(author.pk, "k", letter(), hold_s=0, tags=choice((tags[0],))).edition
    Subscriber.objects.update(tags=[])
    Tag.objects.filter(pk=tags[0].pk).update(name="Wings")
    edition.refresh_from_db()
    assert (recipients(edition), edition.with_tags) == ({"ada", "bram"}, [[tags[0].pk, "Birds"]])
    # If the author changes tags after publication, no copy is withdrawn.
    newsroom = Newsroom()
    assert newsroom.counts(edition).waiting == 2


@pytest.mark.usefixtures("provider")
def test_a_reader_who_left_the_topic_gets_no_copy(author: Any, tags: tuple[Tag, Tag]) -> None:
    birds, fish = tags
    edition = publish(author.pk, "k", letter(), hold_s=0, tags=choice((birds, fish))).edition
    # Ada left her only topic, and Bram one of two. Cleo left no topic: an author removed her tags.
    Subscriber.objects.filter(name="Ada").update(tags=[], left_topics=[birds.pk])
    Subscriber.objects.filter(name="Bram").update(tags=[fish.pk], left_topics=[birds.pk])
    Subscriber.objects.filter(name="Cleo").update(tags=[])
    newsroom = Newsroom()
    newsroom.deliver_all()
    counts = newsroom.counts(edition)
    assert (counts.sent, counts.withdrawn) == (2, 1)
    (withdrawn,) = Delivery.objects.filter(outcome="withdrawn")
    assert withdrawn.address.startswith("ada@")
    assert withdrawn.reason is not None
    assert withdrawn.reason.code == "left_topic"


def test_a_correction_keeps_the_tags_unless_others_are_named(
    author: Any, tags: tuple[Tag, Tag]
) -> None:
    birds, fish = tags
    first = publish(author.pk, "1", letter(), hold_s=0, tags=choice((birds,))).edition
    again = {"hold_s": 0, "issue": first.issue_id, "goes_to": "everyone"}
    kept = publish(author.pk, "2", letter(title="2"), version=2, **again).edition
    assert recipients(kept) == {"ada", "bram"}
    other = publish(
        author.pk, "3", letter(title="3"), version=3, tags=choice((fish,)), **again
    ).edition
    assert recipients(other) == {"bram", "cleo"}


def test_a_known_key_with_other_tags_is_refused(author: Any, tags: tuple[Tag, Tag]) -> None:
    publish(author.pk, "k", letter(), hold_s=0, tags=choice((tags[0],)))
    with pytest.raises(KeyUsedForOtherContentError):
        publish(author.pk, "k", letter(), hold_s=0, tags=choice((tags[1],)))
    assert not publish(author.pk, "k", letter(), hold_s=0, tags=choice((tags[0],))).created


def test_a_deleted_tag_is_refused(author: Any, tags: tuple[Tag, Tag]) -> None:
    chosen = choice((), (tags[0],))
    tags[0].delete()
    with pytest.raises(VersionRefusedError, match="A tag of the audience was deleted"):
        publish(author.pk, "k", letter(), hold_s=0, tags=chosen)
    assert not Edition.objects.exists()


def test_command_and_program_name_tags(
    new_author: Callable[..., Any], tags: tuple[Tag, Tag], tmp_path: Any, capsys: Any
) -> None:
    root = new_author("root", is_superuser=True)
    (tmp_path / "letter.txt").write_text("Gone.")
    given = ["--title", "Swifts", "--text-file", str(tmp_path / "letter.txt"), "--hold", "0"]
    call_command("publish", *given, "--tag", "BIRDS", "--without-tag", "fish")
    printed = capsys.readouterr()
    assert json.loads(printed.out)["audience"] == 1
    assert "goes to all confirmed readers with “Birds”, without “Fish”." in printed.err
    for option, audience in (("--tag", 2), ("--without-tag", 1)):  # only one of the two options
        call_command("publish", *given, option, "birds")
        assert json.loads(capsys.readouterr().out)["audience"] == audience
    with pytest.raises(CommandError, match="Did you mean “Birds”"):
        call_command("publish", *given, "--tag", "Bird")
    program = Program(root)
    words = {"title": "Herons", "text": "Here.", "without_tags": ["birds"]}
    assert program.post("/issues/", words).json()["audience"] == 1
    answer = program.post("/issues/", {**words, "tags": ["Bats"]})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "tags")


def test_a_draft_goes_to_the_chosen_tags(window: WindowOf, tags: tuple[Tag, Tag]) -> None:
    birds, fish = tags
    fields = window.get("/admin/newsletters/write/").form_with("letter").fields
    assert (fields["with_tags"], fields["without_tags"]) == ("", "")
    written = {"title": "Swifts", "letter": "They have gone.", "then": "check"}
    ticked = {"with_tags": ["", f"{fish.pk}", f"{birds.pk}"], "without_tags": ["", f"{fish.pk}"]}
    window.client.post("/admin/newsletters/drafts/", fields | written | ticked, secure=True)
    draft = Draft.objects.get()
    assert (draft.with_tags, draft.without_tags) == ([birds.pk, fish.pk], [fish.pk])

    place = f"/admin/newsletters/drafts/{draft.pk}/"
    assert "1 confirmed reader would get this" in window.get(place).words
    tags_in_words = "with “Birds” or “Fish”, without “Fish”"
    sheet = window.get(f"{place}check/").words
    assert f"1 all confirmed readers {tags_in_words}" in sheet
    assert f"At that time it goes to everyone confirmed by then {tags_in_words}." in sheet
    assert "Not included 2 confirmed, but not chosen by their tags" in sheet
    question = window.get(f"{place}publish/")
    assert "Publish to 1 reader?" in question.words
    assert f"All confirmed readers {tags_in_words}" in question.words
    confirmed = question.form_with("revision")
    assert window.post(confirmed.action, **confirmed.fields).status == 303
    assert recipients(Edition.objects.get()) == {"ada"}


def test_the_form_keeps_and_clears_tags_of_a_correction(
    window: WindowOf, author: Any, tags: tuple[Tag, Tag]
) -> None:
    first = publish(author.pk, "1", letter(), hold_s=0, tags=choice((tags[0],))).edition
    Edition.objects.update(control="closed")
    page = window.get(f"/admin/newsletters/?issue={first.issue_id}")
    fields = page.form_with("html_content").fields
    assert fields["with_tags"] == f"{tags[0].pk}"
    assert "2 confirmed readers would get this" in page.words

    window.post("/admin/newsletters/drafts/", **fields | {"with_tags": "", "title": "Again"})
    assert Draft.objects.get().with_tags == []
    assert window.post(**fields | {"title": "Again"}).status == 303
    assert recipients(Edition.objects.get(version=2)) == {"ada", "bram"}
    cleared = {**fields, "with_tags": "", "version": "3", "idempotency_key": "other"}
    Edition.objects.update(control="closed")
    assert window.post(**cleared).status == 303
    assert recipients(Edition.objects.get(version=3)) == {"ada", "bram", "cleo"}


def test_a_draft_with_a_deleted_tag_is_not_published(
    window: WindowOf, author: Any, tags: tuple[Tag, Tag]
) -> None:
    words = DraftFields(
        title="Swifts", format="markdown", letter="Gone.", without_tags=(tags[0].pk,)
    )
    draft = save_draft.copy(author.pk, "k", words).draft
    assert draft is not None
    tags[0].delete()
    sheet = window.get(f"/admin/newsletters/drafts/{draft.pk}/check/")
    assert "A tag of the audience was deleted. Choose the tags again." in sheet.words


def test_other_tags_need_another_approval(author: Any) -> None:
    draft = Draft.objects.create(letter="Gone.", with_tags=[1], created_by=author)
    before = approval_hash(draft)
    draft.with_tags = [2]
    assert approval_hash(draft) != before


def test_a_scheduled_issue_shows_its_readers_today(
    window: WindowOf, author: Any, tags: tuple[Tag, Tag]
) -> None:
    chosen = choice((), (tags[0],))
    edition = publish(author.pk, "k", letter(), hold_s=0, at=tomorrow(), tags=chosen).edition
    whom = "to everyone confirmed by then without “Birds”"
    assert f"1 today, {whom}" in window.get("/admin/newsletters/issues/").words
    address = f"/admin/newsletters/{edition.issue_id}/"
    page = window.get(address)
    assert f"{whom}." in page.words
    assert "1 today This many readers would get the issue today." in page.words
    # Zeros would look as if copies were lost, so the page has no zeros before sending starts.
    assert not re.search(r">\s*0\s*<", page.html.partition('id="reader-tabs"')[0])
    assert "1 today" in " ".join(
        strip_tags(
            window.client.get(address, secure=True, headers={"HX-Request": "true"}).text
        ).split()
    )


def test_no_choice_says_everyone_beside_ticked_tags(
    window: WindowOf, author: Any, tags: tuple[Tag, Tag]
) -> None:
    first = publish(author.pk, "1", letter(), hold_s=0).edition
    Edition.objects.update(control="closed")
    fields = {"title": "Swifts", "letter": "Gone.", "goes_to": "everyone"}
    for issue in (None, first.issue_id):
        draft = Draft.objects.create(
            issue_id=issue, with_tags=[tags[0].pk], created_by=author, saved_by=author, **fields
        )
        page = window.get(f"/admin/newsletters/drafts/{draft.pk}/").words
        choices = page.partition("Who gets it")[2].partition("Choose readers by tag")[0]
        assert "All confirmed readers with “Birds”" in choices
        assert "Everyone" not in choices
    assert "All confirmed readers with “Birds”: 2 confirmed readers" in choices


def test_confirmed_readers_of_each_tag_are_counted_on_request(
    window: WindowOf, tags: tuple[Tag, Tag]
) -> None:
    Subscriber.objects.filter(tags=[tags[0].pk]).update(state="bounced")
    fields = window.get("/admin/newsletters/write/").form_with("letter").fields

    # Without scripts, a button saves the letter and counts.
    answer = window.post("/admin/newsletters/drafts/", **fields | {"title": "x", "then": "tags"})
    page = window.get(answer.answer["Location"]).words

    assert "Birds 1 Fish 2 Choose none to include everyone." in page
    assert "Birds 1 Fish 2 Save and count" in page


def test_the_count_follows_the_choice(window: WindowOf, author: Any, tags: tuple[Tag, Tag]) -> None:
    birds, fish = (tag.pk for tag in tags)

    def count(query: str) -> str:
        answer = window.get(f"/admin/newsletters/audience/?{query}").answer
        return " ".join(strip_tags(answer.content.decode()).split())

    assert count("").startswith("3 readers 3 confirmed readers would get this")
    both = f"with_tags={birds}&with_tags={fish}&without_tags={fish}"
    assert count(both).startswith("1 reader 1 confirmed reader would")
    assert count("with_tags=999999").startswith("0 readers This would go to nobody:")
    unmailed = count(f"goes_to=nobody&with_tags={birds}")
    assert unmailed.startswith("Archive only Not mailed: archive only. All confirmed readers with")
    first = publish(author.pk, "k", letter(), hold_s=0).edition
    sent(first)
    reached = count(f"issue={first.issue_id}&goes_to=reached&with_tags={birds}")
    assert reached.startswith("2 readers 2 confirmed")
    assert count(f"issue={first.issue_id}&goes_to=unreached").startswith("0 readers This would")
    # If this answer is late, it must not replace the count of a later choice.
    assert count("count_tags") == "2 2 2 2"


@pytest.mark.parametrize(
    ("goes_to", "sentence"),
    [
        ("nobody", "Not mailed: archive only."),
        ("unreached", "no confirmed reader met both conditions, the tags and the choice"),
    ],
)
def test_a_page_says_why_a_version_went_to_nobody(
    window: WindowOf, author: Any, tags: tuple[Tag, Tag], goes_to: str, sentence: str
) -> None:
    limited: dict[str, Any] = {"tags": choice((tags[0],)), "hold_s": 0}
    first = publish(author.pk, "k", letter("{{ name|all }}"), **limited).edition
    sent(first)
    draft = Draft.objects.create(
        issue=first.issue, title="{{ name|all }}", preview_text="{{ name|all }}", letter="More.",
        with_tags=[tags[0].pk], goes_to=goes_to, created_by=author, saved_by=author,
    )  # fmt: skip
    sheet = window.get(f"/admin/newsletters/drafts/{draft.pk}/check/").words
    assert "a correction of all ;" in sheet
    assert "Preview text all" in sheet
    publish(author.pk, "l", letter(), issue=first.issue_id, version=2, goes_to=goes_to, **limited)

    page = window.get(f"/admin/newsletters/{first.issue_id}/").words
    assert sentence in page
    assert "went to nobody: no confirmed reader matched the tags" not in page


def test_a_tag_of_an_open_draft_is_not_deleted(author: Any, tags: tuple[Tag, Tag]) -> None:
    words = DraftFields(title="Swifts", format="markdown", letter="Gone.")
    draft = save_draft.copy(author.pk, "k", words).draft
    assert draft is not None
    with transaction.atomic():
        chosen = replace(words, without_tags=(tags[0].pk,))
        assert save_draft.save(draft.pk, 1, chosen, by=author.pk).is_saved
        deleting = beside(lambda: delete_tag(tags[0].pk, author.pk))
        wait_until_somebody_waits()
    with pytest.raises(TagInUseError, match="Swifts"):
        deleting.result(PATIENCE_S)
    with pytest.raises(TagInUseError, match="Swifts"):
        delete_tag(tags[0].pk, author.pk)
    assert delete_tag(tags[1].pk, author.pk)
