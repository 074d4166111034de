"""Unusual headers and dates never confirm a reader who left."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from subscribers.confirmed_readers import confirmed
from subscribers.importing.file_format.recognise_columns import layout_of
from subscribers.importing.file_format.status_columns import RowStatus
from subscribers.models import Suppression
from tests.subscribers.conftest import ImportRows
from tests.subscribers.factories import SubscriberFactory, the_list
from tests.subscribers.signup_browser import ADA, get_current, press, sign_up

pytestmark = pytest.mark.django_db

CONFIRMED = ("--confirmed",)
KIT = "first_name,email_address,state,created_at,tags,country"
MAILCHIMP = "MEMBER_RATING,UNSUB_TIME,UNSUB_REASON,LEID,EUID"


def statuses(*lines: str) -> list[str]:
    """Return the status of each row, or an empty text if the row has none."""
    layout = layout_of([(n, line.split(",")) for n, line in enumerate(lines, 1)])
    assert layout is not None
    rows = [line.split(",") for line in lines[layout.header_line :]]
    result = [layout.status.of(row) if layout.status else None for row in rows]
    return ["" if one is None else str(getattr(one, "status", "rejected")) for one in result]


@pytest.mark.parametrize(
    "lines",
    [
        ("id,email,subscribed_to_emails,custom_fields.@handle", "1,a@x.org,false,@a"),
        ("api_subscription_id,email,status,Twitter @handle", "1,a@x.org,inactive,@a"),
        ("Exported by Ada <owner@x.org>,", "email,subscribed_to_emails", "a@x.org,false"),
        ("Export of 2024", "Subscriber,Status", "a@x.org,unsubscribed"),
        ("Export", "E-Kontakt,Status", "a@x.org,unsubscribed"),
        (f"อีเมล,ชื่อ,{MAILCHIMP}", "a@x.org,Ada,2,2021-01-01 10:00:00,NORMAL,1,a"),
        ("Wohin,Wer,Zustand", "a@x.org,Ada,unsubscribed"),  # only the values show it
        ("email,Zustand", "a@x.org,unsubscribed", "b@x.org,active", "c@x.org,on holiday"),
        ("email,reason", "a@x.org,unsubscribe", "b@x.org,HardBounce", "c@x.org,SpamComplaint"),
        ("email,statut", "a@x.org,Désabonné"),
        ("email,subscribed", "a@x.org,FALSCH"),
        ("email,subscribed", "a@x.org,0.0"),
        ("email,unsubscribed", "a@x.org,WAHR"),
        ("email,status,unsubscribed_at", "a@x.org,active,2023/03/24 10:00"),
        ("email,status,unsubscribed_at", "a@x.org,active,3/24/23 10:00"),
        ("id,email_address,type,creation_date,tags", "1,a@x.org,unsubscribed,2023,"),
        ("email_address,type", "a@x.org,unsubscribed", "b@x.org,regular"),
        ("email,First Name,status,created_at,unsubscribed_at", "a@x.org,A,inactive,2023,"),
        (KIT, "A,a@x.org,cancelled,2023,,DE", "B,b@x.org,inactive,2023,,DE"),
    ],
)
def test_an_unusual_header_hides_nobody_who_left(lines: tuple[str, ...]) -> None:
    assert "unsubscribed" in statuses(*lines)


@pytest.mark.parametrize("name", ["", ",Ada"])
def test_a_column_of_statuses_needs_no_header(import_rows: ImportRows, name: str) -> None:
    import_rows(
        f"{ADA}{name},unsubscribed", header=f"bob@example.org{name},subscribed", options=CONFIRMED
    )
    assert the_list() == {"bob@example.org": (name.lstrip(","), "confirmed")}
    assert Suppression.objects.get().address_key == ADA


@pytest.mark.parametrize(
    ("kind", "result"), [("nonsubscribed", "rejected"), ("unsubscribed", "unsubscribed")]
)
def test_no_column_outweighs_the_name_of_a_mailchimp_file(kind: str, result: str) -> None:
    lines = ("Email Address,Opt-in,MEMBER_RATING", "a@x.org,Yes,2")
    records = [(n, line.split(",")) for n, line in enumerate(lines, 1)]
    layout = layout_of(records, filename=f"{kind}_email_audience_export_1.csv")
    assert layout is not None
    assert layout.status is not None
    found = layout.status.of(records[1][1])
    assert str(getattr(found, "status", "rejected")) == result


def test_the_first_rows_do_not_hide_a_status_column() -> None:
    inactive = [f"A,r{n}@x.org,inactive,2023,,DE" for n in range(300)]
    assert statuses(KIT, *inactive, "B,b@x.org,Cancelled,2023,,DE")[-1] == "unsubscribed"
    places = "first_name,email_address,state,created_at,city"
    assert statuses(places, "A,a@x.org,CA,2023,Wick") == ["unconfirmed"]
    assert statuses("email,city,state", "a@x.org,Wick,", "b@x.org,,") == ["unconfirmed"] * 2
    since = [f"r{n}@x.org,2023-01-01" for n in range(300)]
    result = statuses("email,subscribed", *since, "b@x.org,no", "c@x.org,")
    assert set(result[:300]) == {"subscribed"}
    assert result[300:] == ["unsubscribed", "unconfirmed"]


@pytest.mark.parametrize("field", ["-", "name"])
def test_an_ignored_status_is_not_consent(import_rows: ImportRows, field: str) -> None:
    options = (*CONFIRMED, "--map", f"status={field}")
    import_rows(f"{ADA},unsubscribed", header="email,status", options=options)
    assert get_current().state == "pending"


@pytest.mark.parametrize(
    ("header", "cells", "mapped"),
    [
        ("status,opt_in", "unsubscribed,yes", ["status=-"]),
        ("status,active", "unsubscribed,true", ["status=-", "active=status"]),
        ("unsubscribed_at,opt_in", "2023-03-24,yes", ["unsubscribed_at=since"]),
        ("left,active", "unsubscribed,true", ["left=-", "active=status"]),
        ("status,active", "unsubscribed,true", ["status=status", "2=name", "active=status"]),
        ("confirmed,zustand", "yes,unsubscribed", []),  # a header in an unknown language
    ],
)
def test_an_ignored_status_outweighs_another_one(
    import_rows: ImportRows, header: str, cells: str, mapped: list[str]
) -> None:
    options = [word for one in mapped for word in ("--map", one)]
    import_rows(f"{ADA},{cells}", header=f"email,{header}", options=(*CONFIRMED, *options))
    assert get_current().state == "pending"


@pytest.mark.parametrize("row", [f"{ADA},{'x' * 300},unsubscribed", f"{ADA},Ada,unsubscribed,more"])
def test_a_row_with_a_gone_status_needs_only_an_address(import_rows: ImportRows, row: str) -> None:
    SubscriberFactory(email=ADA)
    other = "bob@example.org,Bob,active"
    printed = import_rows(row, other, header="email,name,status", options=CONFIRMED)
    assert printed.counts == {"added": 1, "skipped": 1}
    assert set(confirmed().values_list("email", flat=True)) == {"bob@example.org"}


AN_HOUR_FROM_NOW = (datetime.now(UTC) + timedelta(hours=1)).astimezone(
    timezone(timedelta(hours=-8))
)


@pytest.mark.parametrize("option", ["--dry-run", "--confirmed"])
def test_the_report_counts_confirmed_and_pending_separately(
    import_rows: ImportRows, option: str
) -> None:
    options = (*CONFIRMED, option)
    rows = ("bob@example.org,pending", "cy@example.org,pending")
    text = import_rows(f"{ADA},active", *rows, header="email,status", options=options).text
    assert "3  as confirmed, consent given elsewhere: 1" in text
    assert "; as pending, asked by email: 2" in text
    row = "dora@example.org,pending"
    text = import_rows(row, header="email,status", options=options).text
    assert "1  as pending, asked by email; the file marks none of them as subscribed" in text


def test_a_row_with_a_misspelled_address_is_not_a_header() -> None:
    rows = ["ada@example,Ada,subscribed", "bob@example.org,Bob,subscribed"]
    layout = layout_of([(line, row.split(",")) for line, row in enumerate(rows, 1)])
    assert layout is not None
    assert layout.header_line == 0
    assert layout.status is not None


class TestWhenTheyLeft:
    """Homing reads every form of the date on which a reader left."""

    @pytest.mark.parametrize(
        ("value", "left_at"),
        [
            ("2030-01-02 10:00:00", "2030-01-02T10:00"),
            ("2030-01-02T10:00:00.123456Z", "2030-01-02T10:00"),
            ("2030-01-02T10:00:00-08:00", "2030-01-02T18:00"),
            ("2030-01-02 10:00:00 +0200 UTC", "2030-01-02T08:00"),
            ("31.12.2030 10:00", "2030-12-31T10:00"),
            ("12/31/2030 1:00 PM", "2030-12-31T13:00"),
            ("2/3/30", "2030-03-02T00:00"),  # the later of two readings
            ("2030/01/02", "2030-01-02T00:00"),
            ("2023-02-30", "9999-12-31T00:00"),  # unreadable: counts as later than any
            ("2023-02-01 later", "9999-12-31T00:00"),
            ("#####", "9999-12-31T00:00"),
            ("last week", "9999-12-31T00:00"),
            ("45029", "2023-04-13T00:00"),
            ("1681380000", "2023-04-13T10:00"),
            ("Apr 13 2023", "2023-04-13T00:00"),
        ],
    )
    def test_a_date_is_read_in_many_forms(self, value: str, left_at: str) -> None:
        assert left(f"a@x.org,{value}") == left_at

    @pytest.mark.parametrize("value", ["45029", "Apr 13, 2023", "#####", "1681380000", "gone"])
    def test_an_unreadable_date_of_leaving_is_counted(
        self, import_rows: ImportRows, value: str
    ) -> None:
        printed = import_rows(
            f'{ADA},active,"{value}"', header="email,status,unsubscribed_at", options=CONFIRMED
        )
        assert printed.counts == {"skipped": 1}
        is_lost = value in ("#####", "gone")
        assert ("they cannot be read, but these readers" in printed.text.lower()) is is_lost
        assert printed.summary.get("lost_values", 0) == is_lost
        assert Suppression.objects.get().reason == "unsubscribe"

    @pytest.mark.parametrize("value", ["maybe", "2nd list"])
    def test_an_unknown_word_in_a_flag_rejects_its_row(
        self, import_rows: ImportRows, value: str
    ) -> None:
        assert import_rows(f"{ADA},{value}", header="email,unsubscribed").counts == {"rejected": 1}

    def test_the_decisive_status_gives_the_date(self) -> None:
        header = "email,bounced_at,unsubscribed_at"
        assert left("a@x.org,2031-01-01,2030-01-01", header) == "2030-01-01T00:00"
        header = "email,status,unsubscribed_at"
        assert left("a@x.org,complained,2030-01-01", header) == "2030-01-01T00:00"

    @pytest.mark.parametrize(
        "value", [AN_HOUR_FROM_NOW.isoformat(), "2031-02-30"], ids=["an hour later", "unreadable"]
    )
    def test_a_reader_who_left_later_does_not_stay(
        self, import_rows: ImportRows, value: str
    ) -> None:
        sign_up(ADA)
        press(get_current())
        import_rows(f"{ADA},{value}", header="email,unsubscribed_at")
        assert get_current().state == "unsubscribed"


def left(row: str, header: str = "email,unsubscribed_at") -> str:
    """Return when this row's reader left, in UTC, to the minute."""
    layout = layout_of([(1, header.split(",")), (2, row.split(","))])
    assert layout is not None
    assert layout.status is not None
    result = layout.status.of(row.split(","))
    assert isinstance(result, RowStatus)
    assert result.left_at is not None
    return result.left_at.strftime("%Y-%m-%dT%H:%M")
