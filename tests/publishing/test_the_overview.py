"""The desk: what asks for somebody, what goes out, all issues, readers, health and the log."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from delivery.models import Alarm, Batch, Edition, Newsletter
from delivery.queue import identity, presence, scheduled
from publishing.approval import approve, hash_to_approve
from publishing.looking_outside.domain_records import Records, Said
from publishing.looking_outside.keeping import keep_domain
from publishing.models import Draft
from publishing.publish import publish
from subscribers.models import Subscriber
from tests.publishing.ledger import cancelled, in_doubt, sent
from tests.publishing.letters import letter
from tests.publishing.preflight.facts_of import domain, records
from tests.publishing.scheduling_desk import its_time_came, tomorrow
from tests.publishing.window_of import Page, WindowOf
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory

pytestmark = pytest.mark.django_db(transaction=True)

DESK = "/admin/newsletters/issues/"
NOW = f"{DESK}now.json"


@pytest.fixture
def publish_one(author: Any) -> Callable[..., Edition]:
    """Publish a letter of this title, its hold over."""

    def make(title: str = "Herons", **how: Any) -> Edition:
        return publish(
            author.pk, f"key-{title}", letter(title), hold_s=how.pop("hold_s", 0), **how
        ).edition

    return make


def a_worker() -> None:
    presence.arrive(uuid.uuid4(), host="letterbox", pid=4711)


def section(page: Page, name: str) -> str:
    """What stands in one section of the page, as words; empty where there is none."""
    found = re.search(
        rf'<section class="sec" aria-labelledby="{name}">(.*?)</section>', page.html, re.S
    )
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split()) if found else ""


def titles(page: Page) -> list[str]:
    """The titles of the section of issues, from the top."""
    issues = page.html.partition('id="issues"')[2].partition("</section>")[0]
    return re.findall(r'class="title"[^>]*>([^<]+)<', issues)


def lede(page: Page) -> str:
    return " ".join(re.search(r'<p class="lede">(.*?)</p>', page.html, re.S)[1].split())


def stop(edition: Edition, reason: str) -> None:
    Batch.objects.filter(edition=edition, state="ready").update(state="paused")
    Edition.objects.filter(pk=edition.pk).update(control="stopped", control_reason=reason)


# --- The head and what asks for somebody ----------------------------------------------------------


def test_before_anything_is_there_the_desk_says_what_to_do(window: WindowOf) -> None:
    page = window.get(DESK)
    assert lede(page) == "No issue yet."
    assert "Write the first one." in section(page, "issues")
    assert "Write an issue" in page.words
    assert "Nobody is confirmed yet." in section(page, "readers")
    assert "Needs you" not in page.words
    assert "Going out" not in page.words


def test_an_edition_that_was_stopped_says_why_and_leads_to_what_settles_it(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    edition = publish_one("A storm, and what it took")
    stop(edition, "Postmark refuses the sender. Confirm it, then resume.")
    page = window.get(DESK)

    assert lede(page) == "One thing asks for you."
    need = section(page, "need")
    assert "A storm, and what it took needs attention. Postmark refuses the sender." in need
    assert "Resume for 3 readers…" in need
    assert f'href="/admin/newsletters/{edition.issue_id}/resume/?version=1"' in page.html

    window.post(f"/admin/newsletters/{edition.issue_id}/resume/?version=1")
    a_worker()
    assert "needs attention" not in window.get(DESK).words


def test_a_viewer_who_may_only_look_is_offered_nothing_to_press(
    new_author: Any, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    stop(publish_one(), "Postmark refuses the sender.")
    page = WindowOf(new_author("ines", "view_issue")).get(DESK)
    assert "Herons needs attention." in section(page, "need")
    assert "Resume" not in page.words
    assert "Write an issue" not in page.words


def test_where_no_worker_runs_and_something_waits_it_is_said_once(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    assert "No worker is running." not in window.get(DESK).words
    publish_one("Herons")
    publish_one("Swifts")
    need = section(window.get(DESK), "need")
    assert need.count("No worker is running. 2 issues wait for one.") == 1
    a_worker()
    assert section(window.get(DESK), "need") == ""


def test_what_is_scheduled_and_has_nobody_to_start_it_waits_for_a_worker(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    edition = publish_one("Swifts", at=tomorrow())
    before = window.get(DESK)
    assert section(before, "need") == ""
    assert "nothing waits for one" in section(before, "health")

    its_time_came(edition)
    page = window.get(DESK)
    assert "No worker is running. One issue waits for one." in section(page, "need")
    assert lede(page) == "One thing asks for you."
    assert "Workers None is running start one with" in section(page, "health")
    assert "Goes out" not in section(page, "issues")
    assert "Scheduled for" in section(page, "issues")
    # A page that was open all the time learns of it.
    here = re.search(r'data-here="([^"]*)"', before.html)[1]
    assert json.loads(window.get(NOW).answer.content)["here"] != here

    a_worker()
    assert section(window.get(DESK), "need") == ""


def test_what_is_scheduled_and_may_have_gone_out_before_a_restore_needs_attention(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    edition = publish_one("Swifts", at=tomorrow())
    a_worker()
    identity.declare_restored()

    page = window.get(DESK)
    need = section(page, "need")
    assert "Swifts needs attention. This database is not the one that the workers knew" in need
    assert f'href="/admin/newsletters/{edition.issue_id}/?version=1"' in page.html
    assert lede(page) == "One thing asks for you."
    assert "Needs attention" in section(page, "issues")
    assert "Scheduled for" in section(page, "issues")


def test_an_alarm_is_shown_until_somebody_has_looked_at_it(
    window: WindowOf, new_author: Any, publish_one: Callable[..., Edition]
) -> None:
    edition = publish_one()
    for number in (1, 2):
        Alarm.objects.create(
            edition=edition, kind="accepted_twice", about=str(number), sentence=f"Copy {number}."
        )
    page = window.get(DESK)
    need = section(page, "need")
    assert "Alarm: the provider accepted a second copy. Copy 2. And 1 more of this issue." in need
    form = page.form_with("up_to")

    # Who may not settle it is told, and cannot say that they have.
    looker = WindowOf(new_author("ines", "write_draft"))
    assert not looker.get(DESK).has_form_with("up_to")
    assert looker.post(form.action, **form.fields).status == 403

    Alarm.objects.create(edition=edition, kind="surge", about="3", sentence="Too many bounces.")
    assert window.post(form.action, **form.fields).answer["Location"] == DESK
    need = section(window.get(DESK), "need")
    assert "Too many bounces." in need
    assert "Copy 2." not in need
    assert Alarm.objects.filter(looked_by=window.author.pk).count() == 2
    assert "looked at the alarms of Herons" in section(window.get(DESK), "log")


def test_many_alarms_of_one_issue_are_counted_and_hide_none_of_another(
    window: WindowOf, publish_one: Callable[..., Edition]
) -> None:
    quiet, loud = publish_one("Herons"), publish_one("Swifts")
    Alarm.objects.create(edition=quiet, kind="surge", about="", sentence="Too many bounces.")
    Alarm.objects.bulk_create(
        Alarm(edition=loud, kind="not_at_provider", about=str(number), sentence=f"Copy {number}.")
        for number in range(25)
    )

    page = window.get(DESK)
    need = section(page, "need")
    assert "Copy 24. And 24 more of this issue." in need
    assert "Too many bounces." in need
    assert lede(page) == "Two things ask for you."

    form = page.form_with("up_to")
    window.post(form.action, **form.fields)
    need = section(window.get(DESK), "need")
    assert "Too many bounces." in need
    assert "Copy" not in need


@pytest.mark.parametrize("fields", [{}, {"edition": "x", "up_to": "1"}, {"edition": "9" * 30}])
def test_a_form_of_alarms_that_names_nothing_changes_nothing(
    window: WindowOf, fields: dict[str, str]
) -> None:
    assert window.post(f"{DESK}alarms/", **fields).status == 303


def test_an_import_that_waits_for_a_decision_asks_whoever_manages_readers(
    window: WindowOf, new_author: Any
) -> None:
    waiting = SubscriberImportFactory(
        state="checked", confirmed=False, finished_at=None, checked_at=timezone.now(),
        filename="village-fair.csv", rows=7, added=4, known=3,
    )  # fmt: skip
    assert "village-fair.csv" not in window.get(DESK).words

    page = WindowOf(new_author("tom", "manage_readers")).get(DESK)
    need = section(page, "need")
    assert "village-fair.csv is checked and waits for your decision." in need
    assert "4 would be added" in need
    assert f'href="/admin/newsletters/imports/{waiting.pk}/"' in page.html


def test_a_draft_asks_for_its_second_person_only_where_publishing_takes_two(
    window: WindowOf, new_author: Any
) -> None:
    writer = new_author("tom", "write_draft", first_name="Tomás", last_name="Brandão")
    Draft.objects.create(title="A moth at the lamp", letter="Dear all", saved_by=writer)
    assert "is not approved yet" not in window.get(DESK).words

    Newsletter.objects.the_one()
    Newsletter.objects.update(second_person=True)
    page = window.get(DESK)
    need = section(page, "need")
    assert "A moth at the lamp is not approved yet." in need
    assert "Tomás Brandão saved it last" in need
    assert "not approved yet" in section(page, "issues")
    # Whoever wrote it waits for another.
    assert section(WindowOf(writer).get(DESK), "need") == ""


def test_a_draft_counts_as_approved_as_long_as_its_giver_may_publish(
    window: WindowOf, author: Any, new_author: Any
) -> None:
    Newsletter.objects.the_one()
    Newsletter.objects.update(second_person=True)
    writer, giver = new_author("tom", "write_draft"), new_author("basil", "publish_edition")
    draft = Draft.objects.create(title="A moth at the lamp", letter="Dear all", saved_by=writer)
    approve(draft.pk, giver.pk, hash_to_approve(draft))
    page = window.get(DESK)
    assert "about 2 words, approved" in section(page, "issues")
    assert section(page, "need") == ""

    giver.user_permissions.clear()
    page = window.get(DESK)
    assert "not approved yet" in section(page, "issues")
    assert "A moth at the lamp is not approved yet." in section(page, "need")


EVERY_PAGE = ("", "?show=drafts", "?show=ended", "?q=nothing+like+it")


@pytest.mark.parametrize("where", EVERY_PAGE)
def test_what_asks_for_somebody_is_counted_whole_whatever_is_shown_below(
    window: WindowOf, new_author: Any, where: str
) -> None:
    Newsletter.objects.the_one()
    Newsletter.objects.update(second_person=True)
    writer = new_author("tom", "write_draft", first_name="Tomás", last_name="Brandão")
    for number in range(7):
        Draft.objects.create(title=f"Moth {number}", letter="Dear all", saved_by=writer)
    Draft.objects.create(title="One of one's own", letter="Dear all", saved_by=window.author)

    page = window.get(DESK + where)
    assert lede(page).startswith("Seven things ask for you.")
    need = section(page, "need")
    assert need.count("is not approved yet.") == 5
    assert "Moth 6 is not approved yet." in need
    assert need.endswith("And 2 more like them, shown here as these are settled.")


def test_imports_and_alarms_beyond_those_that_are_drawn_are_counted_too(
    window: WindowOf, new_author: Any, publish_one: Callable[..., Edition]
) -> None:
    for number in range(6):
        SubscriberImportFactory(
            state="checked", confirmed=False, finished_at=None, checked_at=timezone.now(),
            filename=f"fair-{number}.csv", rows=7, added=4, known=3,
        )  # fmt: skip
        Alarm.objects.create(
            edition=publish_one(f"Letter {number}"), kind="surge", about="", sentence="Too many."
        )
    assert lede(window.get(DESK)) == "Six things ask for you."
    page = WindowOf(new_author("tom", "manage_readers", "view_issue")).get(DESK)
    assert lede(page) == "12 things ask for you."
    assert section(page, "need").endswith("And 2 more like them, shown here as these are settled.")


@pytest.mark.parametrize("where", EVERY_PAGE)
def test_the_head_says_the_same_whatever_is_shown_below(
    window: WindowOf, publish_one: Callable[..., Edition], where: str
) -> None:
    for number in range(10):
        Draft.objects.create(title=f"Draft {number}")
    assert lede(window.get(DESK + where)) == "No issue was published yet. Ten drafts are open."
    publish_one("Herons")
    said = "Nothing asks for you, and nothing is going out. Ten drafts are open."
    assert lede(window.get(DESK + where)) == said
    at = tomorrow()
    publish_one("Swifts", at=at)
    said = f"Nothing asks for you. “Swifts” goes out {at.words}."
    assert lede(window.get(DESK + where)) == said


# --- Going out ------------------------------------------------------------------------------------


def test_what_goes_out_has_its_numbers_its_bar_and_its_sentence(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    edition = publish_one("Swifts")
    a_worker()
    sent(edition, "Ada")
    in_doubt(edition, "Bram")
    Batch.objects.update(state="ready", doubt_since=None)

    page = window.get(DESK)
    going = section(page, "now")
    assert "Swifts 1 of 3 sent" in going
    assert "1 copy is in doubt: Homing is asking Postmark about it and goes on" in going
    assert 'aria-label="sent 1, unknown 1, waiting 1; audience 3"' in page.html
    assert lede(page) == "“Swifts” is going out and needs nothing from you."


def test_later_readings_are_told_again_only_if_they_say_something_new(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    edition = publish_one("Swifts")
    a_worker()
    here = re.search(r'data-here="([^"]*)"', window.get(DESK).html)[1]
    first = window.get(NOW).answer
    assert json.loads(first.content)["here"] == here

    def again() -> Any:
        return window.client.get(NOW, secure=True, headers={"If-None-Match": first["ETag"]})

    unchanged = again()
    assert unchanged.status_code == 304
    assert re.fullmatch(r"\d\d:\d\d:\d\d", unchanged["Homing-Updated"])

    sent(edition, "Ada")
    news = again()
    assert news.status_code == 200
    reading = json.loads(news.content)
    assert reading["going"][f"edition-{edition.pk}"]["text"]["count"] == "1"
    assert reading["here"] == here

    sent(edition)
    assert json.loads(again().content) == {"here": "needs-0", "going": {}}


def test_later_readings_are_for_those_who_may_look(new_author: Any) -> None:
    assert WindowOf(new_author("tom", "manage_readers")).get(NOW).status == 403
    assert WindowOf(None).get(NOW).status == 302


# --- Issues ---------------------------------------------------------------------------------------


def test_drafts_come_first_then_what_is_scheduled_then_what_was_published(
    window: WindowOf, author: Any, publish_one: Callable[..., Edition]
) -> None:
    publish_one("On the patience of herons")
    publish_one("A storm, and what it took")
    at = tomorrow()
    publish_one("Notes from a wet orchard", at=at)
    Draft.objects.create(
        title="A moth at the lamp", letter="<p>Dear <b>all</b> of you</p>", saved_by=author
    )
    gone_out = publish_one("Swifts")
    Draft.objects.create(title="Swifts", letter="They left.", edition=gone_out)

    page = window.get(DESK)
    assert titles(page) == [
        "A moth at the lamp",
        "Notes from a wet orchard",
        "Swifts",
        "A storm, and what it took",
        "On the patience of herons",
    ]
    issues = section(page, "issues")
    assert "by Edith Marlow Draft about 4 words" in issues
    assert f"Goes out {at.words} Scheduled" in issues
    assert f"“Notes from a wet orchard” goes out {at.words}." in lede(page)


def test_a_row_says_how_its_issue_stands(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    edition = publish_one()
    sent(edition, "Ada", "Bram")
    in_doubt(edition, "Cleo")
    a_worker()
    assert "Sending 2 of 3 sent, 1 unknown" in section(window.get(DESK), "issues")


def test_the_title_of_a_draft_is_shown_as_it_reads_without_a_name(window: WindowOf) -> None:
    Draft.objects.create(title="A moth for {{ name|you }}")

    words = window.get(DESK).words

    assert "A moth for you" in words
    assert "{{ name" not in words


def test_drafts_are_for_those_who_write(window: WindowOf, new_author: Any) -> None:
    Draft.objects.create(title="A moth at the lamp")
    assert titles(WindowOf(new_author("ines", "write_draft")).get(DESK)) == ["A moth at the lamp"]
    looker = WindowOf(new_author("olaf", "view_issue"))
    for show in ("", "?show=drafts"):
        page = looker.get(DESK + show)
        assert "A moth at the lamp" not in page.words
        assert ">Drafts<" not in page.html


def test_a_tab_shows_its_issues_alone(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    Draft.objects.create(title="A moth at the lamp")
    publish_one("Swifts")
    sent(publish_one("Herons"))
    cancelled(publish_one("Lanterns"))

    def shown(tab: str) -> list[str]:
        return titles(window.get(f"{DESK}?show={tab}"))

    assert shown("drafts") == ["A moth at the lamp"]
    assert shown("going-out") == ["Swifts"]
    assert shown("ended") == ["Lanterns", "Herons"]
    assert shown("scheduled") == []
    assert "Nothing is scheduled." in window.get(f"{DESK}?show=scheduled").words
    assert len(shown("no-such-tab")) == 4


def test_issues_are_found_by_a_part_of_their_title(
    window: WindowOf, publish_one: Callable[..., Edition]
) -> None:
    for title in ("Swifts leave", "On herons", "100 % rain"):
        publish_one(title)
    Draft.objects.create(title="More swifts")
    assert titles(window.get(f"{DESK}?q=SWIFTS")) == ["More swifts", "Swifts leave"]
    assert titles(window.get(f"{DESK}?q=%25")) == ["100 % rain"]
    page = window.get(f"{DESK}?q=%3Cb%3Emoths%00")
    assert "No title has “<b>moths” in it." in page.words
    assert "<b>moths" not in page.html


def test_older_issues_begin_where_this_page_ends_whatever_was_published_meanwhile(
    window: WindowOf, publish_one: Callable[..., Edition]
) -> None:
    for number in range(30):
        publish_one(f"Letter {number}")
    Edition.objects.update(published_at=Edition.objects.first().published_at)  # a tie
    page = window.get(DESK)
    found = titles(page)
    assert len(found) == 12
    publish_one("Something new")
    for _ in range(2):
        older = re.search(r'href="([^"#]*)#issues" rel="next"', page.html)
        page = window.get(older[1].replace("&amp;", "&"))
        found += titles(page)
    assert 'rel="next"' not in page.html
    assert found == [f"Letter {number}" for number in range(29, -1, -1)]
    assert "Newest issues" in page.words
    assert "There are no older issues." in window.get(f"{DESK}?before=1").words
    assert len(titles(window.get(f"{DESK}?before=nothing"))) == 12


def test_drafts_have_pages_too(window: WindowOf) -> None:
    for number in range(15):
        Draft.objects.create(title=f"Draft {number}")
    beside = window.get(DESK)
    assert titles(beside) == ["Draft 14", "Draft 13", "Draft 12"]
    assert "All drafts" in beside.words
    first = window.get(f"{DESK}?show=drafts")
    older = re.search(r'href="([^"#]*)#issues" rel="next"', first.html)[1]
    second = window.get(older.replace("&amp;", "&"))
    assert titles(first) + titles(second) == [f"Draft {n}" for n in range(14, -1, -1)]


# --- Readers --------------------------------------------------------------------------------------


def test_readers_over_time_begin_with_the_first_issue(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    assert "from the first issue on" in section(window.get(DESK), "readers")
    publish_one("Herons")
    SubscriberFactory()
    page = window.get(DESK)
    readers = section(page, "readers")
    assert "4 confirmed" in readers
    assert "Confirmed readers at each issue, and now. 1 more than on" in readers
    assert "The scale starts at 3." in readers
    assert re.search(r'aria-label="Confirmed readers rose from 3 on [^"]* to 4 now"', page.html)


def test_what_was_called_off_before_its_time_is_no_number_of_readers(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    publish_one("Herons")
    waits = publish_one("Swifts", at=tomorrow())
    assert scheduled.call_off(waits.pk, "Called back by a person.")
    page = window.get(DESK)
    assert page.html.count('<path class="e"') == 2  # Herons, and now
    figures = page.html.partition("Show the figures</summary><p>")[2].partition("</p>")[0]
    assert re.fullmatch(r"[^;]* 3; now 3\.", figures)


def test_a_correction_to_some_is_no_number_of_readers(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    first = publish_one("Herons")
    sent(first, "Ada")
    sent(first)
    publish(window.author.pk, "k2", letter("Herons"), hold_s=0, issue=first.issue_id, version=2,
            goes_to="reached")  # fmt: skip
    assert window.get(DESK).html.count('<path class="e"') == 2


def test_what_was_not_sent_is_drawn_of_what_is_over(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    over, going = publish_one("Herons"), publish_one("Swifts")
    Batch.objects.filter(edition=over).update(
        state="done", waiting=0, sent=1, suppressed=1, withdrawn=1
    )
    page = window.get(DESK)
    strips = page.html.partition("Not sent, by edition")[2].partition("</section>")[0]
    assert "suppressed 1, withdrawn 1, failed 0" in strips
    assert strips.count('<svg class="bar"') == 1
    assert "2 of 3" in strips
    assert going.title not in strips


# --- Health and the log ---------------------------------------------------------------------------


def test_health_says_honestly_what_is_not_known(window: WindowOf, settings: Any) -> None:
    settings.FROM_EMAIL = "Edith Marlow <letter@almanack.org>"
    health = section(window.get(DESK), "health")
    assert "Workers None is running nothing waits for one" in health
    assert "Postmark Not called lately" in health
    assert "Webhooks Off POSTMARK_WEBHOOK_PASSWORD is not set" in health
    assert "Sender domain Not looked at yet almanack.org is looked at when" in health
    assert "Imports None is under way" in health


def test_a_domain_for_examples_is_not_said_to_be_looked_at(window: WindowOf) -> None:
    health = section(window.get(DESK), "health")
    assert "Sender domain One for examples nobody can own example.org" in health
    assert "looked at" not in health


GUESS = "Postmark’s key usually stands under a name that cannot be guessed"


@pytest.mark.parametrize(
    ("otherwise", "said"),
    [
        ({}, "DKIM is found DMARC is “reject”; almanack.org, looked at"),
        (
            {"dkim": records()},
            f"DKIM is not known {GUESS}; DMARC is “reject”; almanack.org, looked at",
        ),
        ({"dkim": Records(Said.NO_SUCH_NAME)}, f"DKIM is not known {GUESS}"),
        ({"dkim": Records(Said.NO_ANSWER)}, "No name server answered almanack.org, looked at"),
        ({"texts": Records(Said.NO_SUCH_NAME)}, "There is no such domain almanack.org, looked at"),
        ({"dmarc": Records(Said.NO_ANSWER)}, "DKIM is found no name server answered for DMARC;"),
        ({"dmarc": records()}, "DKIM is found there is no DMARC record;"),
        # What the domain above asks for those below it.
        (
            {"dmarc": records("v=DMARC1; p=reject; sp=none"), "dmarc_at": "org"},
            "DKIM is found DMARC is “none”;",
        ),
        (
            {"dmarc": records("v=DMARC1; p=none", "v=DMARC1; p=reject")},
            "DKIM is found there are 2 DMARC records, and receivers ignore them all;",
        ),
    ],
)
def test_the_sender_domain_is_as_it_was_last_looked_at_and_as_a_check_says(
    window: WindowOf, settings: Any, otherwise: dict[str, Any], said: str
) -> None:
    settings.FROM_EMAIL = "Marlow, Edith <letter@almanack.org>"
    keep_domain(domain(**otherwise))
    assert f"Sender domain {said}" in section(window.get(DESK), "health")


def test_a_dkim_key_that_cannot_be_seen_is_no_fault(window: WindowOf, settings: Any) -> None:
    settings.FROM_EMAIL = "Edith Marlow <letter@almanack.org>"
    keep_domain(domain(dkim=records()))
    line = window.get(DESK).html.partition("<dt>Sender domain</dt>")[2].partition("</dd>")[0]
    assert '<span class="state calm">' in line


def test_the_last_that_was_done_stands_there_and_leads_to_the_whole_log(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    for number in range(8):
        publish_one(f"Letter {number}")
    log = section(window.get(DESK), "log")
    assert log.count("Edith Marlow published") == 6
    assert "Edith Marlow published Letter 7 to 3 readers" in log
    assert "The whole log" in log


# --- Who sees what, and what it costs -------------------------------------------------------------

PARTS = ("issues", "readers", "health", "log")


@pytest.mark.parametrize(
    ("permission", "parts"),
    [
        ("publish_edition", PARTS),
        ("operate_sending", PARTS),
        ("write_draft", ("issues", "readers")),
        ("view_issue", ("issues", "readers")),
        ("manage_readers", ("readers", "log")),
    ],
)
def test_everybody_sees_what_they_have_to_do_with(
    new_author: Any, publish_one: Callable[..., Edition], permission: str, parts: tuple[str, ...]
) -> None:
    publish_one("Herons")
    page = WindowOf(new_author("ines", permission)).get(DESK)
    assert page.status == 200
    assert tuple(part for part in PARTS if section(page, part)) == parts
    assert ("Herons" in page.words) == (permission != "manage_readers")
    # Readers are led to only by whoever may see them.
    assert ("/admin/newsletters/readers/" in page.html) == (permission == "manage_readers")


def test_who_has_no_business_with_it_is_told_so(new_author: Any) -> None:
    page = WindowOf(new_author("nobody", "add_group")).get(DESK)
    assert page.status == 403
    assert "The desk needs a permission that this account lacks." in page.words
    assert WindowOf(None).get(DESK).answer["Location"] == f"/admin/login/?next={DESK}"


def test_it_takes_as_many_queries_for_thirty_issues_as_for_three(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    a_worker()

    def queries(address: str = DESK) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert window.get(address).status == 200
        return len(captured)

    def more(first: int, last: int) -> None:
        for number in range(first, last):
            edition = publish_one(f"Letter {number}")
            Draft.objects.create(title=f"Draft {number}", letter="Dear all", saved_by=window.author)
            Alarm.objects.create(edition=edition, kind="surge", about="", sentence="Too many.")
            if number % 3:
                sent(edition)
            elif number % 2:
                stop(edition, "Postmark refuses the sender.")

    more(0, 3)
    queries()
    few, few_now = queries(), queries(NOW)
    more(3, 30)
    assert queries() == few <= 25
    assert queries(NOW) == few_now <= 8


def test_a_hold_that_is_over_soon_is_no_longer_held(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    edition = publish_one("Swifts", hold_s=3600)
    a_worker()
    assert "is held and can still be called back" in lede(window.get(DESK))
    Edition.objects.filter(pk=edition.pk).update(
        published_at=timezone.now() - timedelta(hours=2),
        held_until=timezone.now() - timedelta(hours=1),
    )
    assert "is going out and needs nothing from you" in lede(window.get(DESK))
