"""Writing a correction: the form says what it will be and to how many; a version goes out once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.core.management import call_command
from django.db import connection

from delivery.models import Delivery, Edition
from idempotency.key import fresh_key
from idempotency.models import PostedForm
from publishing.content import Content
from publishing.models import KeptForm
from publishing.publish import publish
from subscribers.leaving import leave
from subscribers.models import Subscriber
from tests.publishing.ledger import cancelled, sent
from tests.publishing.scheduling_desk import tomorrow
from tests.publishing.window_of import FORM, LETTER, WindowOf
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

ACCEPTED = "The newsletter issue has been accepted - emails will go out shortly."
PATIENCE_S = 60


@pytest.fixture
def first(window, three_readers):
    """Version 1, published from the form, to Ada, Bram and Cleo."""
    assert window.publish().status == 303
    return Edition.objects.get()


@pytest.fixture
def corrected(first):
    """Version 1 after its three copies went out."""
    sent(first)
    return first


def form_for(edition, more=""):
    return f"{FORM}?issue={edition.issue_id}{more}"


def open_correction(window, edition, **changes):
    """The fields of the form for the next version, with a better text."""
    fields = window.get(form_for(edition)).form_with("title").fields
    return {**fields, "text_content": "Fourteen, not forty.\n", **changes}


def test_the_form_holds_the_newest_words_and_says_which_version_of_what_it_will_be(
    window, corrected
):
    page = window.get(form_for(corrected))

    assert "Write a correction" in page.words
    assert (
        "This will be version 2 of Swifts leave without saying goodbye . "
        "3 copies of version 1 went out, so it is a correction"
    ) in page.words
    fields = page.form_with("title").fields
    assert (fields["issue"], fields["version"]) == (str(corrected.issue_id), "2")
    for name, words in LETTER.items():
        assert fields[name] == words


def test_it_says_to_how_many_each_choice_goes(window, corrected):
    SubscriberFactory(name="Dirk")
    leave(Subscriber.objects.get(name="Ada").pk)

    page = window.get(form_for(corrected))

    assert "Everyone: 3 confirmed readers" in page.words
    assert "Only those who were sent an earlier version: 2 confirmed readers" in page.words
    assert page.form_with("title").fields["goes_to"] == "everyone"
    assert 'data-button="Publish version 2 to 2"' in page.html


def test_a_correction_is_accepted_and_goes_to_whom_was_chosen(window, corrected):
    SubscriberFactory(name="Dirk")

    answer = window.post(**open_correction(window, corrected, goes_to="reached"))

    assert (answer.status, answer.answer["Location"]) == (303, FORM)
    assert ACCEPTED in window.get().words
    second = Edition.objects.get(version=2)
    assert (second.issue_id, second.goes_to, second.audience) == (corrected.issue_id, "reached", 3)
    assert second.text_content == "Fourteen, not forty.\n"


def test_an_issue_that_reached_nobody_is_no_correction_and_offers_no_choice(window, first):
    cancelled(first)

    page = window.get(form_for(first))

    assert "Write the next version" in page.words
    assert "No earlier version reached anybody, so it is no correction" in page.words
    assert "Who gets it" not in page.words
    assert "Publish version 2 to 3" in page.words
    assert window.post(**page.form_with("title").fields).status == 303
    assert Edition.objects.get(version=2).audience == 3


def test_an_earlier_version_that_is_still_being_sent_is_named_before_and_after(window, first):
    sent(first, "Ada")
    said = (
        "Version 1 is still being sent: 2 copies wait. Their readers get version 1 and then this "
        "one; cancel version 1 if nobody else should get it."
    )

    assert said in window.get(form_for(first)).words
    assert window.post(**open_correction(window, first)).status == 303

    assert said in window.get().words


def test_the_plain_form_names_no_issue(window, first):
    fields = window.get().form_with("title").fields

    assert not {"issue", "version", "goes_to"} & set(fields)


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ("00000000-0000-4000-8000-000000000000", "There is no issue 00000000-0000-4000-8000-000"),
        ("swifts", "'swifts' is not the id of an issue; a UUID is expected."),
        ("", "'' is not the id of an issue; a UUID is expected."),
    ],
)
def test_a_form_for_an_issue_that_there_is_not_is_not_found(window, named, sentence):
    page = window.get(f"{FORM}?issue={named}")

    assert page.status == 404
    assert sentence in page.words


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"version": "3"}, "There is no version 3 of “Swifts leave without saying goodbye”"),
        ({"version": "0"}, "'0' is not a version; a whole number from 1 is expected."),
        ({"version": ""}, "No version is named of “Swifts leave without saying goodbye”"),
        ({"issue": "swifts"}, "'swifts' is not the id of an issue; a UUID is expected."),
        ({"goes_to": "nobody"}, "'nobody' is not whom a version goes to; choose one below."),
    ],
)
def test_what_cannot_be_published_comes_back_with_a_sentence_and_every_word(
    window, corrected, changes, sentence
):
    fields = open_correction(window, corrected, **changes)

    page = window.post(**fields)

    assert page.status == 200
    assert sentence in page.words
    assert "The form has one error. Your text is still here" in page.words
    again = page.form_with("title").fields
    for name in ("text_content", "idempotency_key", "issue"):
        assert again[name] == fields[name]
    assert Edition.objects.count() == 1
    assert PostedForm.objects.count() == 1


# --- Posted twice -------------------------------------------------------------------------------


def test_the_same_correction_posted_twice_is_published_once_and_answered_the_same(
    window, corrected
):
    fields = open_correction(window, corrected)

    answers = [window.post(**fields) for _ in range(2)]

    assert [answer.status for answer in answers] == [303, 303]
    assert Edition.objects.count() == 2


def test_after_the_saved_answer_has_expired_the_same_correction_is_still_answered_303(
    window, corrected
):
    fields = open_correction(window, corrected)
    window.post(**fields)
    PostedForm.objects.all().delete()

    assert window.post(**fields).status == 303

    assert Edition.objects.count() == 2
    assert ACCEPTED in window.get().words


@pytest.mark.parametrize(
    "change", [{"goes_to": "reached"}, {"version": "3"}, {"title": "Third thoughts"}]
)
@pytest.mark.parametrize("expired", [False, True])
def test_one_key_with_another_version_other_readers_or_other_words_gets_422(
    window, corrected, change, expired
):
    fields = open_correction(window, corrected)
    window.post(**fields)
    if expired:
        PostedForm.objects.all().delete()

    page = window.post(**{**fields, **change})

    assert page.status == 422
    assert "Nothing was sent now and nothing was changed." in page.words
    assert Edition.objects.count() == 2
    fresh = page.form_with("title").fields
    assert fresh["version"] == "3"
    assert fresh["text_content"] == fields["text_content"]
    assert window.post(**fresh).status == 303
    assert Edition.objects.get(version=3).issue_id == corrected.issue_id


def test_two_authors_who_write_the_same_version_publish_it_once_and_the_second_keeps_their_words(
    window, new_author, corrected
):
    tomas = WindowOf(new_author("tomas"))
    mine = open_correction(window, corrected)
    theirs = open_correction(tomas, corrected, text_content="Fifteen, I counted.\n")
    assert window.post(**mine).status == 303

    page = tomas.post(**theirs)

    assert page.status == 422
    assert "Version 2 was already published with other content" in page.words
    assert "Edith Marlow published version 2" in page.words
    assert "<del>Fourteen, not forty</del>" in page.html
    fresh = page.form_with("title").fields
    assert (fresh["version"], fresh["text_content"]) == ("3", "Fifteen, I counted.\n")
    assert fresh["idempotency_key"] != theirs["idempotency_key"]
    assert Edition.objects.count() == 2
    assert tomas.post(**fresh).status == 303


def test_the_same_version_with_the_same_words_from_another_form_sends_nothing_and_says_so(
    window, corrected
):
    one, two = (open_correction(window, corrected) for _ in range(2))
    window.post(**one)
    window.get()

    assert window.post(**two).status == 303

    assert Edition.objects.count() == 2
    words = window.get().words
    assert "Version 2 was published before, with these same words, to everyone confirmed." in words
    assert ACCEPTED not in words


def test_a_version_that_is_scheduled_meanwhile_is_said_to_wait_for_its_time(window, corrected):
    fields = open_correction(window, corrected)
    moment = tomorrow()
    content = Content.written(
        fields["title"], fields["html_content"], fields["text_content"], fields["preheader"]
    )
    publish(window.author.pk, "k2", content, hold_s=0, issue=corrected.issue_id, version=2,
            at=moment)  # fmt: skip

    other = window.post(**{**fields, "text_content": "Fifteen.\n"})
    without = window.post(**{**fields, "title": ""})
    fields["idempotency_key"] = fresh_key()
    assert window.post(**fields).status == 303
    same = window.get()

    assert other.status == 422
    assert "Version 2 was already scheduled with other content" in other.words
    assert "Edith Marlow scheduled version 2 of" in other.words
    assert f"for {moment.words}. Then your form" in other.words
    assert "See how it stands" in other.words
    assert "was scheduled meanwhile by Edith Marlow, for " + moment.words in without.words
    assert f"before, with these same words, for {moment.words}, to everyone" in same.words
    assert "See the issue" in same.words
    assert "See it go out" not in same.words
    assert "0 readers" not in other.words + without.words + same.words
    for page in (other, without, same):
        assert "ublished version 2" not in page.words
    assert Edition.objects.count() == 2


@pytest.mark.parametrize("was", ["scheduled", "published"])
def test_a_version_that_was_called_back_meanwhile_is_said_to_be(window, corrected, was):
    at = tomorrow() if was == "scheduled" else None
    fields = open_correction(window, corrected)
    content = Content.written(
        fields["title"], fields["html_content"], fields["text_content"], fields["preheader"]
    )
    publish(window.author.pk, "k2", content, hold_s=600, issue=corrected.issue_id, version=2, at=at)
    call_command("edition", "call-back", str(corrected.issue_id))

    other = window.post(**{**fields, "text_content": "Fifteen.\n"})
    under_key = window.post(**{**fields, "idempotency_key": "k2", "text_content": "Fifteen.\n"})
    fields["idempotency_key"] = fresh_key()
    assert window.post(**fields).status == 303
    same = window.get().words

    assert f"Version 2 was already {was} with other content, and called back" in other.words
    assert f"This form was already {was} with other content, and called back" in under_key.words
    for page in (other, under_key):
        assert page.status == 422
        assert page.title.startswith(f"Already {was}")
        assert "By now that version is called back." in page.words
        assert "See how it stands" in page.words
        assert page.form_with("title").fields["version"] == "3"
    assert f"Version 2 was {was} before, with these same words" in same
    assert "to everyone confirmed, and called back since. Nothing was sent now" in same
    if at:
        assert "ublished version 2" not in other.words + same
    assert Edition.objects.count() == 2


def test_ten_windows_that_publish_one_version_at_once_make_one_edition(window, corrected):
    windows = [window.another() for _ in range(10)]
    forms = [open_correction(window, corrected) for _ in windows]
    together = Barrier(len(windows))

    def post(pair):
        other, fields = pair
        try:
            together.wait(PATIENCE_S)
            return other.post(**fields).status
        finally:
            connection.close()

    with ThreadPoolExecutor(len(windows)) as pool:
        statuses = list(pool.map(post, zip(windows, forms, strict=True), timeout=PATIENCE_S))

    assert set(statuses) == {303}
    assert Edition.objects.count() == 2
    assert Delivery.objects.count() == 6


def test_new_words_under_a_used_key_may_become_a_correction_of_the_first(window, three_readers):
    fields = window.open_form()
    window.post(**fields)
    sent(Edition.objects.get())

    page = window.post(**{**fields, "text_content": "Fourteen, not forty.\n"})

    assert page.status == 422
    assert "A correction: version 2 of the same issue, to everyone" in page.words
    fresh = page.form_with("title").fields
    assert fresh["issue"] == ""  # a new issue, unless the author chooses
    issue = Edition.objects.get().issue_id
    assert window.post(**{**fresh, "issue": str(issue)}).status == 303
    assert Edition.objects.get(version=2).issue_id == issue


# --- Signed out in the middle -------------------------------------------------------------------


def sign_in(window):
    window.post(
        f"/admin/login/?next={FORM}", username="edith", password="a long password", next=FORM
    )


def test_a_correction_posted_while_signed_out_comes_back_for_the_same_version(window, corrected):
    fields = open_correction(window, corrected, goes_to="reached")
    window.post("/admin/logout/")
    window.post(**fields)
    sign_in(window)

    for address in (FORM, form_for(corrected)):
        page = window.get(address)
        assert "This will be version 2 of" in page.words
        kept = page.form_with("title").fields
        for name in ("issue", "version", "goes_to", "text_content", "idempotency_key"):
            assert kept[name] == fields[name]
    assert window.post(**kept).status == 303

    assert Edition.objects.get(version=2).goes_to == "reached"
    assert not KeptForm.objects.exists()


def test_a_letter_kept_for_something_else_is_not_put_into_the_form_of_an_issue(window, corrected):
    fields = {**window.open_form(), "title": "Another letter"}
    window.post("/admin/logout/")
    window.post(**fields)
    sign_in(window)

    page = window.get(form_for(corrected))

    assert page.form_with("title").fields["title"] == LETTER["title"]
    assert "Kept for you from when you were signed out: Another letter" in page.words


def test_a_kept_correction_whose_version_was_published_meanwhile_says_so_and_is_kept_for_the_next(
    window, new_author, corrected
):
    fields = open_correction(window, corrected)
    window.post("/admin/logout/")
    window.post(**fields)
    tomas = WindowOf(new_author("tomas"))
    tomas.post(**open_correction(tomas, corrected, text_content="Fifteen, I counted.\n"))
    sign_in(window)

    page = window.get()
    assert "was published meanwhile by tomas" in page.words
    again = window.post(**page.form_with("title").fields)
    assert again.status == 422

    kept = window.get().form_with("title").fields
    assert kept["version"] == "3"
    assert kept["idempotency_key"] == again.form_with("title").fields["idempotency_key"]
    assert window.post(**kept).status == 303


# --- The issue's page ---------------------------------------------------------------------------


def test_the_issues_page_leads_to_a_correction_once_somebody_was_reached(window, first):
    page = f"{FORM}{first.issue_id}/"
    link = f'<a href="{FORM}write/?issue={first.issue_id}"'

    assert f'{link} data-text="write">Write the next version</a>' in window.get(page).html
    sent(first, "Ada")
    assert f"{link}>Write a correction</a>" in window.get(page).html


def test_who_may_only_look_is_offered_no_correction(new_author, corrected):
    ines = WindowOf(new_author("ines", "view_issue"))

    assert "Write a correction" not in ines.get(f"{FORM}{corrected.issue_id}/").words


def test_the_issues_page_lists_its_versions_with_whom_each_went_to(window, corrected):
    address = f"{FORM}{corrected.issue_id}/"
    assert "Versions" not in window.get(address).words
    window.post(**open_correction(window, corrected, goes_to="reached"))

    for page in (window.get(address), window.get(f"{address}?version=1")):
        assert "A correction, to those who were sent an earlier one. Published" in page.words
        assert "To everyone confirmed. Published" in page.words
    assert f'href="{address}?version=1"' in window.get(address).html
    overview = window.get(f"{FORM}issues/").words
    assert "Correction, version 2, to those who were sent an earlier one." in overview
