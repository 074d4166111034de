"""Rejected rows that were corrected get the same result as rows without a fault."""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction

from subscribers.models import ReaderFieldDefinition, Subscriber, Suppression, Tag
from tests.publishing.author_browser import WindowOf
from tests.subscribers.conftest import FileOf, ImportRows, ImportSubscribers
from tests.subscribers.factories import the_list
from tests.subscribers.importing.import_browser import run_workers, uploaded

pytestmark = pytest.mark.django_db(transaction=True)

STATED = ("--confirmed", "--consent", "Asked")
TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
SUBSCRIBED = "subscribed_members_export_1.csv"
MAILCHIMP = "Email Address,First Name,MEMBER_RATING,OPTIN_TIME,LEID,EUID,TAGS"
UNKNOWN = "These are rejected rows, but Homing does not know which file they are from."
# A correct file, and wrong cells that replace some of its cells.
PLAIN = (
    "E-Mail;Nome;Stadt;created_at;tags;Notes;paid",
    "ada@example.org;Ada;Bern;25/04/2023;Sailors, Cooks;-;yes",
    "bob@example.org;Bob;=Thun;03/04/2023;Cooks;+1;yes",
    "cy@example.org;Cy;Chur;;;;no",
    "dee@example.org;Dee;Genf;04/05/2023;Sailors;x;no",
)
LISTMONK = (
    "uuid,email,name,attributes,status,created_at",
    "1,ada@example.org,Ada,{},enabled,2024-03-01",
    "2,bob@example.org,Bob,{},enabled,2024-03-02",
    "3,cy@example.org,Cy,{},blocklisted,2024-03-03",
)
CONTACTS = (
    MAILCHIMP,
    'ada@example.org,Ada,2,2023-01-02 10:00:00,1,a,"""Cooks"""',
    'bob@example.org,Bob,2,2023-01-03 10:00:00,2,b,"""Sailors"""',
)
BARE = (
    "1,ada@example.org,Ada Whitlock,active",
    "2,bob@example.org,Bob Reed,",
    "3,cy@example.org,Cy Marsh,unsubscribed",
    "4,dee@example.org,Dee Fox,active",
)
DATES = (
    "email,created_at",
    "ada@example.org,03/04/2023",
    "bob@example.org,13/04/2023",
    "cy@example.org,04/13/2023",
)
# Files whose rejected row would have another meaning if it were the only row.
ALONE = (
    (("email,name", "ada@example.org,Ada", "bob@example.org,Bob"), "bob@example.org,Bob,Reed"),
    (
        ("email,name,first name", "ada@example.org,Ada Fox,Ada", "bob@example.org,Rob Reed,Bob"),
        "bob@@,Rob Reed,Bob",
    ),
    (
        ("email,email address", ",ada@example.org", "b@example.org,bob@example.org", ",cy@x.org"),
        "b@example.org,bob@@",
    ),
    (("email,city,state", "ada@example.org,Bern,BE", "bob@example.org,Chur,"), "bob@@,Chur,"),
    (("email,unsubscribed_at", "ada@example.org,-", "bob@example.org,-"), "bob@@,-"),
)


def found() -> list[Any]:
    """Return the stored data of all readers and suppressions."""
    tags = dict(Tag.objects.values_list("id", "name"))
    readers = [
        (
            one.email,
            one.name,
            one.fields,
            sorted(tags[tag] for tag in one.tags),
            one.state,
            one.confirmed_at and min(one.confirmed_at, TODAY),
        )
        for one in Subscriber.objects.order_by("email")
    ]
    return [readers, sorted(Suppression.objects.values_list("address_key", "reason"))]


def corrected(text: str, right: Sequence[str], wrong: Sequence[str], delimiter: str) -> str:
    """Correct the wrong cells and nothing else, as an author does."""
    rows = list(csv.reader(io.StringIO(text)))
    for row in rows[1:]:
        line = int(row[0]) - 1
        [good], [bad] = (csv.reader([some[line]], delimiter=delimiter) for some in (right, wrong))
        row[2:] = (
            [got if was == now else now for got, was, now in zip(row[2:], bad, good, strict=True)]
            if len(row) - 2 == len(bad) == len(good)
            else good
        )
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "right", "wrong", "options"),
    [
        (
            "list.csv",
            PLAIN,
            {
                2: "bob@@",
                3: 'cy@example.org;"Cy',
                4: "dee@example.org;Dee;Genf;04/05/2023;a;x;no;z",
            },
            ("--map", "Notes=comment", "--map", "paid=tag:Paid"),
        ),
        ("list.csv", LISTMONK, {2: "enabld", 3: "cy@@"}, ("--list-is-confirmed",)),
        (SUBSCRIBED, CONTACTS, {2: "bob@@"}, ()),
        ("list.csv", BARE, {1: "bob@@", 2: "cy@@", 3: "dee@@"}, ()),
        ("list.csv", BARE, {1: "bob@@"}, ()),
        ("list.csv", DATES, {1: "ada@@", 2: "bob@@"}, ()),
        *(("list.csv", right, {2: wrong}, ()) for right, wrong in ALONE),
    ],
)
def test_corrected_rows_come_in_as_right_rows_do(
    file_of: FileOf,
    import_subscribers: ImportSubscribers,
    tmp_path: Path,
    name: str,
    right: Sequence[str],
    wrong: dict[int, str],
    options: tuple[str, ...],
) -> None:
    for position, key in enumerate(("city", "comment"), 1):
        label = {"city": "Stadt"}.get(key, key)
        ReaderFieldDefinition.objects.create(key=key, label=label, position=position)
    delimiter = ";" if right is PLAIN else ","
    broken = list(right)
    for at, text in wrong.items():
        reader = right[at].split("@")[0].rpartition(",")[2] + "@example.org"
        parts = {"enabld": "enabled", f"{reader.split('@')[0]}@@": reader}
        old = parts.get(text, right[at])
        broken[at] = right[at].replace(old, text)
    with transaction.atomic():
        import_subscribers(file_of(*right[1:], header=right[0], name=name), *STATED, *options)
        expected = found()
        transaction.set_rollback(True)
    rejects = tmp_path / "rejects.csv"
    path = file_of(*broken[1:], header=broken[0], name=name)
    first = import_subscribers(path, *STATED, *options, "--rejects", str(rejects))
    assert first.counts["rejected"] == len(wrong)

    again = file_of(content=rejects.read_bytes(), name="uncorrected.csv")
    assert import_subscribers(again, *STATED).counts == {"rejected": len(wrong)}
    text = corrected(rejects.read_text(encoding="utf-8"), right, broken, delimiter)
    is_open = [one for one in options if one == "--list-is-confirmed"]
    import_subscribers(file_of(content=text.encode(), name="back.csv"), *STATED, *is_open)

    assert found() == expected


def test_nobody_is_confirmed_by_rows_of_an_unknown_file(
    file_of: FileOf, import_rows: ImportRows, import_subscribers: ImportSubscribers
) -> None:
    header, bad = "email,name,status", [f"bad{n}@@,Bad,subscribed" for n in range(8)]
    import_rows(*bad[:1], header=header, name="other.csv")
    rows = ("9,why,ada@example.org,Ada,subscribed", "4,why,cy@example.org,Cy,unsubscribed")
    path = file_of(*rows, header=f"line,reason,{header}")

    printed = import_subscribers(path, *STATED)

    assert any(UNKNOWN in line for line in printed.lines)
    assert the_list() == {"ada@example.org": ("Ada", "pending")}
    assert Suppression.objects.get().address_key == "cy@example.org"
    import_rows(*bad, header=header, name="known.csv")
    assert import_subscribers(path, *STATED).summary["created"]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("rejects.csv", {"ada@example.org": "pending"}),
        (f"rejects from {SUBSCRIBED}", {"ada@example.org": "confirmed"}),
        ("rejected from nonsubscribed_members_export_1.csv", {}),
    ],
)
def test_the_name_decides_between_files_alike(
    file_of: FileOf, import_subscribers: ImportSubscribers, name: str, counts: dict[str, str]
) -> None:
    wrong = CONTACTS[1].replace("ada@", "ada@@")
    for kind in (SUBSCRIBED, f"non{SUBSCRIBED}"):
        import_subscribers(file_of(wrong, header=MAILCHIMP, name=kind), *STATED)
    row = f"2,why,{CONTACTS[1]}"
    import_subscribers(file_of(row, header=f"line,reason,{MAILCHIMP}", name=name), *STATED)
    assert {email: state for email, (_, state) in the_list().items()} == counts


def test_rejected_rows_keep_columns_chosen_on_the_page(window: WindowOf) -> None:
    ReaderFieldDefinition.objects.create(key="city", label="City", position=1)
    address = uploaded(window, b"email,name,place\nada@@x.org,Ada,Bern\nbob@@x.org,Bob,Chur\n")
    columns = window.get(address).form_with("column-1").fields
    answer = window.post(f"{address}columns/", **{**columns, "column-3": "city"})
    run_workers()
    address = str(answer.answer.headers["Location"])

    for old in ("ada@@", "bob@@"):  # then a file of the corrected rows
        file = window.client.get(f"{address}rejects.csv", secure=True)
        text = b"".join(file.streaming_content).decode()  # type: ignore[attr-defined]
        assert text.startswith("line,reason,email,name,place\r\n")
        again = text.replace(f",{old}", f",{old[:-1]}").replace("\r", "").encode()
        address = uploaded(window, again)
        window.post(f"{address}import/", consent="ask")
        run_workers()

    found = Subscriber.objects.order_by("email").values_list("name", "fields")
    assert list(found) == [("Ada", {"city": "Bern"}), ("Bob", {"city": "Chur"})]


def test_each_list_has_a_file_of_rejected_rows(file_of: FileOf, tmp_path: Path) -> None:
    paths = [file_of(f"no{kind},x", header=f"email,{kind}", name=f"{kind}.csv") for kind in "ab"]
    rejects = tmp_path / "rejects.csv"
    options = [*map(str, paths), "--rejects", str(rejects)]
    call_command("import_subscribers", *options, stdout=io.StringIO(), stderr=io.StringIO())
    for kind in "ab":
        text = (tmp_path / f"rejects from {kind}.csv").read_text(encoding="utf-8")
        assert text.startswith(f"line,reason,email,{kind}\n2,")
        assert text.endswith(f",no{kind},x\n")
    assert not rejects.exists()
