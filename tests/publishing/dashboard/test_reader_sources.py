"""The table of new readers by source."""

import re
from datetime import date
from typing import Any

import pytest
from django.http import HttpResponse

from delivery.models import Newsletter
from publishing.dashboard.reader_counts import first_month, source_table
from publishing.publish.publish_edition import publish
from subscribers.models import Subscriber
from subscribers.signup.signup_form import embed_form_html
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import Page, WindowOf
from tests.publishing.content_factory import letter
from tests.subscribers.importing.import_browser import run_workers, uploaded
from tests.subscribers.signup_browser import press, visitor


def test_the_largest_source_and_the_newest_month_come_first() -> None:
    may, june = date(2026, 5, 1), date(2026, 6, 1)
    numbers = {(may, "form"): 3, (june, "form"): 2, (june, "sign-up"): 1, (may, "import"): 40}

    table = source_table(numbers)

    assert table is not None
    assert [(label, number) for label, number, _ in table.totals] == [
        ("Import", 40),
        ("Form on this site", 6),
    ]
    assert table.months == [("Jun 2026", [0, 3]), ("May 2026", [40, 3])]


def test_no_new_readers_make_no_table() -> None:
    assert source_table({}) is None


def test_twelve_months_are_shown_with_the_present_one() -> None:
    assert first_month(date(2026, 11, 28)) == date(2025, 12, 1)
    assert first_month(date(2026, 12, 1)) == date(2026, 1, 1)


@pytest.mark.django_db(transaction=True)
def test_the_desk_shows_a_reader_of_each_source(new_author: Any) -> None:
    Newsletter.objects.update_or_create(pk=1, defaults={"own_sites": "https://ada.example"})
    author = new_author("ola", "publish_edition", "manage_readers")
    desk = WindowOf(author)
    publish(author.pk, "k", letter("Swifts"), hold_s=0)
    pasted = embed_form_html("https://letter.example.org", "Tides")
    forms = {
        "https://testserver": (WindowOf(None).get("/"), WindowOf(None).get("/archive/swifts/")),
        "https://ada.example": (Page(HttpResponse(pasted)),),
    }
    for origin, pages in forms.items():
        for number, page in enumerate(pages):
            form = page.form_with("email")
            fields = form.fields | {"email": f"{number}@{origin.removeprefix('https://')}.org"}
            path = form.action.removeprefix("https://letter.example.org")
            visitor().post(path, fields, headers={"Origin": origin})
    desk.post("/admin/newsletters/readers/add/", email="desk@example.org")
    Program(author).post("/readers/", {"address": "api@example.org"})
    for reader in Subscriber.objects.all():
        press(reader)
    stated = {"consent": "elsewhere", "states_it": "yes", "where": "At the fair"}
    desk.post(f"{uploaded(desk, b'imported@example.org')}import/", **stated)
    run_workers()

    shown = desk.get("/admin/newsletters/issues/").words.partition("by source")[2]

    of_forms = ["Form on this site", "Form below a letter", "Form on another site"]
    for source in (*of_forms, "Import", "API", "Added on the desk"):
        assert re.search(f"{source} 1 ", shown), shown
