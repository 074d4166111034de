"""Fields, tags, sign-up dates and notes on consent that an import brings over."""

import csv
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import CommandError

from delivery.models import Delivery
from publishing.content.edition_content import Content
from publishing.exporting.export_files import export_files
from publishing.publish.switch_welcome_letter import turn_on
from subscribers.data_requests.erase import erase
from subscribers.desk.reader_list import rows_by_id, with_suppressed
from subscribers.desk.readers_csv import csv_lines
from subscribers.fields.own_fields import load_fields
from subscribers.importing.accept_upload import Statement, store_for_import
from subscribers.importing.file_format.read_file import ReaderFile
from subscribers.importing.file_format.recognise_columns import layout_of
from subscribers.importing.file_format.tag_cell import MOST_TAGS_OF_A_ROW, read_tags
from subscribers.importing.import_task import run_next_import
from subscribers.models import (
    ConsentRecord,
    ReaderFieldDefinition,
    Subscriber,
    SubscriberImport,
    Tag,
)
from subscribers.refusal_sentences import InputRefusal
from subscribers.suppression.manual_suppression import block
from tests.subscribers.conftest import FileOf, ImportRows
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db

CONFIRMED = ("--confirmed", "--consent", "Signed list")


@pytest.fixture
def city() -> ReaderFieldDefinition:
    return ReaderFieldDefinition.objects.create(key="city", label="Home town", position=1)


def groups() -> dict[str, tuple[dict[str, str], list[str]]]:
    """Map each reader's address to the reader's field values and tag names."""
    names = dict(Tag.objects.values_list("id", "name"))
    return {
        reader.email: (reader.fields, sorted(names[tag] for tag in reader.tags))
        for reader in Subscriber.objects.all()
    }


class TestFields:
    @pytest.mark.parametrize(
        "key",
        [
            *("city", "first_name", "full_name", "bounced", "opt_in", "came_by", "created_at"),
            *("member_rating", "subscribed_to_emails", "reader", "consent_note", "email_address"),
        ],
    )
    def test_an_exported_field_of_any_name_is_imported_again(self, key: str) -> None:
        ReaderFieldDefinition.objects.create(key=key, label=key, position=1)
        SubscriberFactory(email="ada@x.org", name="Ada Bee", fields={key: "yes"})
        readers = with_suppressed(Subscriber.objects.all())
        complete = next(one.pieces for one in export_files() if one.path == "readers.csv")
        of_desk = "".join(csv_lines(rows_by_id(readers)))
        for text in (of_desk, b"".join(complete).decode()):
            rows = list(csv.reader(text.splitlines()))
            layout = layout_of(list(enumerate(rows, 1)), fields=load_fields())
            assert layout is not None
            assert layout.values_in(rows[1]) == ("Ada Bee", "yes")
            assert layout.status is not None
            assert layout.status.product == "Homing readers"
            assert {rows[0][at] for at in layout.status.columns} <= {
                *("state", "suppressed", "unsubscribed")
            }

    @pytest.mark.parametrize("header", ["City", "home town", "HOME TOWN "])
    def test_a_column_is_found_by_key_or_label(
        self, import_rows: ImportRows, city: ReaderFieldDefinition, header: str
    ) -> None:
        printed = import_rows("ada@x.org, York ", "bob@x.org,", header=f"email,{header}")
        assert groups() == {"ada@x.org": ({"city": "York"}, []), "bob@x.org": ({}, [])}
        assert f"Home town: “{header.strip()}”" in printed.text

    def test_an_invalid_value_rejects_its_row(
        self, import_rows: ImportRows, city: ReaderFieldDefinition
    ) -> None:
        printed = import_rows("ada@x.org,\x07York", f"bob@x.org,{'y' * 257}", header="email,city")
        assert printed.counts == {"rejected": 2}
        assert "“Home town” has 257 characters. At most 256 are allowed." in printed.text

    def test_a_status_column_is_no_field(
        self, import_rows: ImportRows, city: ReaderFieldDefinition
    ) -> None:
        ReaderFieldDefinition.objects.create(key="unsubscribed", label="Left", position=2)
        import_rows("ada@x.org,yes", "bob@x.org,no", header="email,unsubscribed", options=CONFIRMED)
        assert groups() == {"bob@x.org": ({}, [])}

    def test_a_field_defined_later_changes_no_running_import(
        self, import_rows: ImportRows, city: ReaderFieldDefinition
    ) -> None:
        first = import_rows("ada@x.org,York,7", header="email,city,shoe")
        ReaderFieldDefinition.objects.create(key="shoe", label="Shoe", position=2)
        record = SubscriberImport.objects.get(pk=first.summary["import"])
        assert record.mapping == [["column 2", "city"]]
        # Homing now knows the new field and reads the file differently, so this is a new import.
        assert import_rows("ada@x.org,York,7", header="email,city,shoe").summary["created"]

    def test_a_field_deleted_meanwhile_gets_no_values(
        self, file_of: FileOf, city: ReaderFieldDefinition
    ) -> None:
        path = file_of("ada@x.org,York", header="email,city")
        with ReaderFile(path, "list.csv", fields=load_fields()) as file, path.open("rb") as content:
            store_for_import(file, content, "list.csv", Statement().columns())
        city.delete()
        assert run_next_import()
        assert groups() == {"ada@x.org": ({}, [])}

    def test_known_readers_keep_their_values(
        self, import_rows: ImportRows, city: ReaderFieldDefinition
    ) -> None:
        SubscriberFactory(email="ada@x.org", fields={"city": "Leeds"})
        import_rows("ada@x.org,York", header="email,city")
        assert groups()["ada@x.org"] == ({"city": "Leeds"}, [])


class TestTags:
    def test_tags_of_rows_and_of_the_import_are_put_on(self, import_rows: ImportRows) -> None:
        Tag.objects.create(name="VIP")
        printed = import_rows(
            'ada@x.org,"vip, Blog"', "bob@x.org,", header="email,Tags", options=("--tag", "Fair")
        )
        tags = {address: names for address, (_, names) in groups().items()}
        assert tags == {"ada@x.org": ["Blog", "Fair", "VIP"], "bob@x.org": ["Fair"]}
        assert "Tags: Blog (1), vip (1)" in printed.text

    def test_known_readers_get_tags_but_no_topic_that_they_left(
        self, import_rows: ImportRows
    ) -> None:
        left = Tag.objects.create(name="Walks", is_topic=True)
        SubscriberFactory(email="ada@x.org", left_topics=[left.pk])
        SubscriberFactory(email="gone@x.org", state="unsubscribed")
        import_rows("ada@x.org,Walks|Blog", "gone@x.org,Blog", header="email,tags")
        assert groups() == {"ada@x.org": ({}, ["Blog"]), "gone@x.org": ({}, [])}

    @pytest.mark.parametrize("tags", ["", "Blog"], ids=["of the import", "of the row too"])
    def test_skipped_rows_of_leavers_get_no_tags(self, import_rows: ImportRows, tags: str) -> None:
        old = Tag.objects.create(name="Old")
        for state in ("unsubscribed", "bounced", "complained"):
            SubscriberFactory(email=f"{state}@x.org", state=state, tags=[old.pk])
        SubscriberFactory(email="elsewhere@x.org", tags=[old.pk])
        assert block(SubscriberFactory(email="blocked@x.org", tags=[old.pk]).pk)
        assert erase(SubscriberFactory(email="erased@x.org").pk)
        printed = import_rows(
            *(
                f"{name}@x.org,{tags},subscribed"
                for name in ("unsubscribed", "bounced", "complained")
            ),
            *(f"{name}@x.org,{tags},subscribed" for name in ("blocked", "erased")),
            f"elsewhere@x.org,{tags},unsubscribed",
            f"new@x.org,{tags},subscribed",
            header="email,tags,status",
            options=("--tag", "Fair"),
        )
        assert printed.counts == {"skipped": 6, "added": 1}
        found = {address: names for address, (_, names) in groups().items()}
        assert found.pop("new@x.org") == [*filter(None, [tags]), "Fair"]
        assert set(map(tuple, found.values())) == {("Old",)}

    def test_topics_left_elsewhere_stay_left(self, import_rows: ImportRows) -> None:
        import_rows('ada@x.org,"[""Blog""]","[""Walks""]"', header="email,tags,left_topics")
        reader = Subscriber.objects.get()
        assert reader.left_topics == [Tag.objects.get(name="Walks").pk]
        import_rows("ada@x.org,Walks", header="email,tags")
        assert groups()["ada@x.org"] == ({}, ["Blog"])

    @pytest.mark.parametrize(
        "options", [["tiers=tags"], ["tiers=tags", "labels=tags"]], ids=["one", "both"]
    )
    def test_several_columns_of_tags_are_joined(
        self, import_rows: ImportRows, options: list[str]
    ) -> None:
        mapped = [word for option in options for word in ("--map", option)]
        rows = ['ada@x.org,"Gold, old","[""Blog"", ""a, b""]"', "bob@x.org,,Blog|blog"]
        import_rows(*rows, header="email,tiers,labels", options=tuple(mapped))
        tags = {address: names for address, (_, names) in groups().items()}
        assert tags == {"ada@x.org": ["Blog", "Gold", "a, b", "old"], "bob@x.org": ["Blog"]}

    def test_a_dry_run_adds_no_tags(self, import_rows: ImportRows) -> None:
        printed = import_rows("ada@x.org,Blog", header="email,tags", options=("--dry-run",))
        assert "Tags: Blog (1)" in printed.text
        assert not Tag.objects.exists()

    def test_too_many_different_tags_reject_their_rows(self, import_rows: ImportRows) -> None:
        rows = [
            f"reader{row}@x.org,{'|'.join(f'tag {row}-{n}' for n in range(90))}"
            for row in range(12)
        ]
        printed = import_rows(*rows, "last@x.org,TAG 0-1", header="email,tags")
        assert printed.counts == {"added": 12, "rejected": 1}
        assert "more than 1,000 different tags" in printed.text

    @pytest.mark.parametrize(
        ("cell", "tags"),
        [
            ("", ()),
            ("[]", ()),
            ('"VIP","Blog, old"', ("VIP", "Blog, old")),  # Mailchimp
            ("vip; Blog ;VIP", ("vip", "Blog")),
            ("vip;\u202evip\u202c;\u200eVIP;\u2067vip\u2069", ("vip",)),
            ("vip;\u200b;\u3164 \u00ad", ("vip",)),  # names that nobody could see
            ("York, UK;Blog", ("York, UK", "Blog")),  # Buttondown
            ('["a, b", "c"]', ("a, b", "c")),
            ("[not json", ("[not json",)),
            ("[" * 5_000, "tag_too_long"),
            ('["\\ud800"]', "tag_control_characters"),
            ("Blog\r\nYork, UK\n", ("Blog", "York", "UK")),
            ("a" * 61, "tag_too_long"),
            ("a\x07", "tag_control_characters"),
            (",".join(map(str, range(MOST_TAGS_OF_A_ROW + 1))), "tags_too_long"),
            ("x" * 100_000, "tags_too_long"),
        ],
    )
    def test_a_cell_is_read_as_products_write_it(self, cell: str, tags: Any) -> None:
        found = read_tags(cell)
        assert (found.code if isinstance(found, InputRefusal) else found) == tags


class TestSignUpDates:
    def test_a_date_is_on_record(self, import_rows: ImportRows) -> None:
        import_rows(
            "ada@x.org,2021-03-04 05:06:07,",
            "bob@x.org,2021-03-05,2020-01-01",
            "cy@x.org,2199-01-01,",
            "dee@x.org,later,",
            "eve@x.org,0001-01-01 00:00:00 +0000 UTC,",
            header="email,optin_time,confirm_time",
            options=CONFIRMED,
        )
        since = dict(Subscriber.objects.values_list("email", "confirmed_at"))
        assert since["ada@x.org"] == datetime(2021, 3, 4, 5, 6, 7, tzinfo=UTC)
        assert since["bob@x.org"] == datetime(2020, 1, 1, tzinfo=UTC)
        started = SubscriberImport.objects.get().requested_at
        assert min(since[f"{name}@x.org"] for name in ("cy", "dee", "eve")) > started
        detail = ConsentRecord.objects.get(subscriber_id=Subscriber.objects.get(email="ada@x.org"))
        assert detail.detail == (
            "Consent given elsewhere, stated by an operator on the command line: Signed list; "
            "Signed up there on 2021-03-04, according to the file"
        )

    def test_the_whole_column_shows_its_form(self, import_rows: ImportRows) -> None:
        rows = [f"reader{row}@x.org,01/02/2023" for row in range(400)]
        import_rows(*rows, "last@x.org,01/31/2023", header="email,joined", options=CONFIRMED)
        january = datetime(2023, 1, 2, tzinfo=UTC)
        assert Subscriber.objects.filter(confirmed_at=january).count() == 400

    @pytest.mark.parametrize("dry_run", [True, False])
    def test_lost_dates_are_counted_with_examples(
        self, import_rows: ImportRows, dry_run: bool
    ) -> None:
        printed = import_rows(
            "ada@x.org,#####,",
            "bob@x.org,2199-01-01,2020-01-01",
            "cy@x.org,soon,",
            "dee@x.org,,2021-01-01",
            header="email,confirm_time,optin_time",
            options=(*CONFIRMED, *(["--dry-run"] if dry_run else [])),
        )
        assert printed.summary["lost_values"] == 3
        for sentence in (
            "Date of sign-up: “confirm_time”, else “optin_time”",
            "Lost dates in “confirm_time”: 1. The spreadsheet replaced them with #, ",
            "Widen it and save the file again. For example: line 2: “#####”",
            "“confirm_time”: 1. They are before 1990 or in the future. For example: line 3: “2199-",
            "“confirm_time”: 1. They cannot be read. For example: line 4: “soon”",
        ):
            assert sentence in printed.text
        details = "\n".join(ConsentRecord.objects.order_by("id").values_list("detail", flat=True))
        assert dry_run or "Signed up there on an unknown date: the file has “soon”" in details
        assert dry_run or "Signed up there on 2020-01-01" in details

    def test_a_word_for_a_status_is_no_lost_date(self, import_rows: ImportRows) -> None:
        printed = import_rows("ada@x.org,yes", "bob@x.org,2023-01-02", header="email,subscribed")
        assert "lost" not in printed.text

    def test_a_note_on_consent_is_on_record(self, import_rows: ImportRows) -> None:
        import_rows(
            "ada@x.org,Fair  2019", header="email,paper", options=("--map", "paper=consent")
        )
        assert ConsentRecord.objects.get().detail == "Fair 2019"


ONE_ADDRESS = "is ignored: only one column can be the email address"


class TestSecondColumns:
    """A second column with the same meaning is not ignored silently."""

    @pytest.mark.parametrize(
        ("header", "mapped", "sentence"),
        [
            ("email,work email", "", f"“work email” {ONE_ADDRESS}, and that is “email”"),
            ("by,by,x", "by=email", f"“by” {ONE_ADDRESS}, and that is “by”."),
            ("email,full name,name", "", "“name” is ignored, because “full name” is read as “Name"),
            ("email,city,home town", "", "“home town” is ignored, because “city” is read as “Home"),
            ("email,status,b", "status=-", "“status” has statuses that are not read."),
        ],
    )
    def test_the_report_says_what_is_read_instead(
        self,
        import_rows: ImportRows,
        city: ReaderFieldDefinition,
        header: str,
        mapped: str,
        sentence: str,
    ) -> None:
        values = {"email,work email": "ada@y.org", "by,by,x": "ada@y.org"}
        second = values.get(header, "active" if "status" in header else "York")
        options = ("--dry-run", *(("--map", mapped) if mapped else ()))
        printed = import_rows(f"ada@x.org,{second},x", header=header, options=options)
        assert f"Note: {sentence}" in printed.text

    @pytest.mark.parametrize(
        ("header", "options"),
        [
            ("email,first name,last name,town", ()),
            ("email,name,town", ("--map", "town=city", "--map", "name=-")),
            ("email,tags,labels", ("--map", "labels=-")),
            ("email,confirm time,optin time", ()),
        ],
    )
    def test_a_use_as_asked_needs_no_note(
        self,
        import_rows: ImportRows,
        city: ReaderFieldDefinition,
        header: str,
        options: tuple[str, ...],
    ) -> None:
        printed = import_rows("ada@x.org,,", header=header, options=("--dry-run", *options))
        assert "Note:" not in printed.text


class TestWelcome:
    def test_added_confirmed_readers_get_it_if_chosen(
        self, import_rows: ImportRows, city: ReaderFieldDefinition, django_user_model: Any
    ) -> None:
        edith = django_user_model.objects.create_user("edith")
        text = "Hello {{ name }} from {{ city|afar }}, {{ unsubscribe_url }}"
        turn_on(edith.pk, Content(title="Welcome", html="", text=text))
        SubscriberFactory(email="known@x.org")
        import_rows(
            "ada@x.org,Ada,York,subscribed",
            "bob@x.org,,,unconfirmed",
            "known@x.org,,,subscribed",
            header="email,name,city,status",
            options=(*CONFIRMED, "--welcome"),
        )
        ada = Subscriber.objects.get(email="ada@x.org")
        [letter] = Delivery.objects.exclude(
            recipient_id=Subscriber.objects.get(email="bob@x.org").pk
        )
        assert (letter.recipient_id, letter.name, letter.fields) == (ada.pk, "Ada", ["York"])
        # The number of requests is 1, so a later confirmation would have another number.
        assert ada.requests == 1

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (("--welcome",), "needs --confirmed"),
            (("--welcome", *CONFIRMED), "No welcome letter is on"),
        ],
    )
    def test_it_is_refused_with_a_reason(
        self, import_rows: ImportRows, options: tuple[str, ...], sentence: str
    ) -> None:
        with pytest.raises(CommandError, match=sentence):
            import_rows("ada@x.org,Ada", options=options)
