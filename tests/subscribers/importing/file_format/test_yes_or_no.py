"""Columns with yes or no for a tag, such as a column for paying readers."""

import pytest

from subscribers.importing.file_format.yes_or_no import Answer, TagColumn, tag_column
from subscribers.models import Subscriber, SubscriberImport, Tag
from tests.publishing.author_browser import WindowOf
from tests.subscribers.conftest import ImportRows
from tests.subscribers.importing.import_browser import run_workers, uploaded

GHOST = "id,email,name,subscribed_to_emails,complimentary_plan,stripe_customer_id,labels"
ROWS = (
    "1,ada@x.org,Ada,true,true,,VIP",
    "2,bob@x.org,Bob,true,,cus_1,",
    "3,cy@x.org,Cy,true,false,,",
    "4,dee@x.org,Dee,false,true,,",
)


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("TRUE", Answer.YES),
        ("Yes", Answer.YES),
        ("0", Answer.NO),
        ("Free", Answer.NO),
        (" - ", Answer.EMPTY),
        ("2001-02-03", Answer.PAST),
        ("2999-02-03T00:00:00Z", Answer.DATE),
        ("Gold, yearly", Answer.TEXT),
    ],
)
def test_each_value_says_something_about_the_tag(value: str, answer: Answer) -> None:
    expires = tag_column(0, ["Expiry"], "paid")
    assert expires is not None
    assert expires.read([value]) is answer
    assert TagColumn(0, "paid").read(["2001-02-03"]) is Answer.DATE
    assert expires.read([]) is Answer.EMPTY


def tags_of_readers() -> dict[str, list[str]]:
    names = dict(Tag.objects.values_list("id", "name"))
    return {
        email.partition("@")[0]: sorted(names[tag] for tag in tags)
        for email, tags in Subscriber.objects.values_list("email", "tags")
    }


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("header", "cells", "column", "tag"),
    [
        ("email,active_subscription,email_disabled", ("true,false", "false,false"), 2, "paid"),
        ("email,status,tier,unsubscribed_at", ("active,premium,", "active,free,"), 3, "paid"),
    ],
)
def test_paying_readers_of_a_service_get_a_tag_if_chosen(
    import_rows: ImportRows, header: str, cells: tuple[str, str], column: int, tag: str
) -> None:
    rows = [f"{name}@x.org,{cell}" for name, cell in zip(("ada", "bob"), cells, strict=True)]
    offered = import_rows(*rows, header=header, options=("--dry-run",))
    option = f"{column}=tag:{tag}"
    offer = next(line for line in offered.lines if line.startswith("Can be the tag “paid” for 1"))
    assert offer.endswith(f"To do so, add --map {option}")
    import_rows(*rows, header=header, options=("--map", option))
    assert tags_of_readers() == {"ada": ["paid"], "bob": []}


@pytest.mark.django_db
def test_tags_of_columns_have_the_names_that_the_author_writes(import_rows: ImportRows) -> None:
    options = ("--map", "complimentary_plan=tag:Friends", "--map", "stripe_customer_id=tag:VIP")
    printed = import_rows(*ROWS, header=GHOST, options=options)
    assert tags_of_readers() == {"ada": ["Friends", "VIP"], "bob": ["VIP"], "cy": []}
    assert "1 row gets the tag “Friends” (yes: 1, no: 1, empty: 1)." in printed.lines
    other = "1 row gets the tag “VIP” (empty: 2, another text, which counts as yes: 1)."
    assert other in printed.lines


@pytest.mark.django_db(transaction=True)
def test_the_page_offers_the_column_with_its_counts(window: WindowOf) -> None:
    address = uploaded(window, "\n".join((GHOST, *ROWS, "")).encode())
    offer = "Can be the tag “complimentary” for 1 row (yes: 1, no: 1, empty: 1)."
    assert offer in window.get(address).words

    bad = window.post(f"{address}columns/", **{"column-5": f"tag:{'x' * 61}"})
    assert "has an unknown choice" in bad.words
    again = window.post(f"{address}columns/", **{"column-5": "tag:complimentary"})
    run_workers()
    address = str(again.answer.headers["Location"])
    page = window.get(address)
    assert "Tag “complimentary”: “complimentary_plan”" in page.words
    assert "1 row gets the tag “complimentary” (yes: 1, no: 1, empty: 1)." in page.words
    assert '<option value="tag:complimentary" selected>' in page.source
    window.post(f"{address}import/", consent="ask")
    run_workers()
    assert tags_of_readers() == {"ada": ["VIP", "complimentary"], "bob": [], "cy": []}
    assert SubscriberImport.objects.get().tag_values["paid"] == {"empty": 2, "text": 1}
