"""Rows of other products' exports are imported by their status."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError

from delivery.models import Delivery
from subscribers.confirmed_readers import confirmed
from subscribers.consent import consent_log
from subscribers.data_requests.erase import erase
from subscribers.importing.file_format.recognise_columns import layout_of
from subscribers.importing.file_format.status_columns import RowStatus
from subscribers.importing.import_task import CHUNK
from subscribers.models import ConsentRecord, RejectedRow, Subscriber, Suppression, Tag
from subscribers.models.consent_record import OF_FORMS
from subscribers.refusal_sentences import sentence_of
from subscribers.suppression.manual_suppression import block, unblock
from tests.subscribers.conftest import FileOf, ImportRows, ImportSubscribers, not_to_mail
from tests.subscribers.factories import SubscriberFactory, SuppressionFactory, the_list
from tests.subscribers.search_all_tables import tables_that_hold
from tests.subscribers.signup_browser import ADA, get_current, press, sign_up

pytestmark = pytest.mark.django_db

EXPORTS = sorted((Path(__file__).parents[2] / "exports").iterdir())
REASONS = {
    "unsubscribe": "unsubscribed",
    "bounce": "bounced",
    "complaint": "complained",
    "manual": "blocked",
}
STATES = {"unsubscribed": "unsubscribed", "bounced": "bounced", "complained": "complained"}
CONFIRMED = ("--confirmed",)


def results_by_address() -> dict[str, str]:
    """Map addresses to results. Sample addresses begin with the expected result."""
    found = {email: state for email, (_, state) in the_list().items()}
    for entry in Suppression.objects.filter(origin="import", lifted_at=None):
        assert entry.address_key not in found
        found[entry.address_key] = REASONS[entry.reason]
    rejected = RejectedRow.objects.filter(result="rejected").values_list("email", flat=True)
    return found | dict.fromkeys(rejected, "rejected")


@pytest.mark.parametrize("path", EXPORTS, ids=lambda path: path.name)
def test_each_row_is_imported_by_its_status(
    path: Path, import_subscribers: ImportSubscribers
) -> None:
    dry = import_subscribers(path, "--dry-run", "--confirmed")
    assert results_by_address() == {}

    printed = import_subscribers(path, "--confirmed")

    came = results_by_address()
    assert came == {email: email.partition(".")[0] for email in came}
    summary = printed.summary
    assert len(came) == summary["rows"] == len(path.read_text().splitlines()) - 1
    assert dry.counts == printed.counts
    gone = [line for line in printed.lines if line.startswith("Statuses: ")]
    assert all("suppressed" in line for line in gone) or not summary["skipped"]
    pending = {email for email, how in came.items() if how == "pending"}
    assert set(Delivery.objects.values_list("address", flat=True)) == pending


# For each file: the name, the tags and the day of sign-up of the first reader whom the file adds.
FIRST_READERS = {
    "buttondown.csv": ("", ["corporate", "nyc"], "2023-01-02"),
    "email_list.fieldnotes.csv": ("", [], "2018-08-27"),
    "field-notes-subscribers-2026-10-01.csv": ("Reader", ["a", "b"], "2023-03-24"),
    "kit.csv": ("R", ["a", "b"], "2024-01-02"),
    "members.2026-10-01.csv": ("Ada", ["Blog", "VIP"], "2023-03-24"),
    "subscribed_members_export_0a1b2c3d4e.csv": ("Ada Whitlock", ["Blog", "VIP"], "2021-04-02"),
    "subscribers.csv": ("Reader", [], "2024-02-29"),
}


@pytest.mark.parametrize("name", FIRST_READERS)
def test_names_tags_and_dates_arrive_as_products_write_them(
    name: str, import_subscribers: ImportSubscribers
) -> None:
    import_subscribers(next(path for path in EXPORTS if path.name == name), "--confirmed")
    reader = Subscriber.objects.earliest("id")
    tags = Tag.objects.filter(id__in=reader.tags).order_by("name").values_list("name", flat=True)
    consent = ConsentRecord.objects.get(subscriber=reader).detail
    signed_up = consent.partition("Signed up there on ")[2][:10]
    assert (reader.name, list(tags), signed_up) == FIRST_READERS[name]


MAILCHIMP = next(path for path in EXPORTS if path.name.startswith("subscribed_"))


@pytest.mark.parametrize(
    ("kind", "name", "result"),
    [
        ("subscribed", "readers.csv", {"pending"}),
        ("unsubscribed", "readers.csv", {"unsubscribed", "complained"}),
        ("cleaned", "subscribed_members_export_1.csv", {"bounced"}),
        ("nonsubscribed", "readers.csv", {"pending"}),
    ],
)
def test_a_renamed_mailchimp_file_is_not_consent(
    import_rows: ImportRows, kind: str, name: str, result: set[str]
) -> None:
    [path] = [path for path in EXPORTS if path.name.startswith(f"{kind}_")]
    import_rows(content=path.read_bytes(), name=name, options=CONFIRMED)
    assert set(results_by_address().values()) == result


def test_another_status_in_the_file_name_is_another_import(import_rows: ImportRows) -> None:
    content = MAILCHIMP.read_bytes()
    for name, created in (("readers.csv", True), ("list.csv", False), (MAILCHIMP.name, True)):
        printed = import_rows(content=content, name=name, options=CONFIRMED)
        assert printed.summary["created"] is created


class TestWhoIsKnown:
    """How a row with `unsubscribed` changes a known reader in each state."""

    ROW = (f"{ADA},unsubscribed,",)
    HEADER = "email,status,unsubscribed_at"

    def test_an_imported_reader_who_is_gone_gets_no_mail(self, import_rows: ImportRows) -> None:
        reader = SubscriberFactory(email=ADA)
        printed = import_rows(*self.ROW, header=self.HEADER)
        reader.refresh_from_db()
        assert (reader.state, printed.counts) == ("unsubscribed", {"skipped": 1})
        assert not confirmed().exists()
        line = ConsentRecord.objects.get(subscriber=reader)
        assert (line.act, line.how, line.detail) == ("left", "import", "file_says_unsubscribed")
        in_words = consent_log.sentence_of(line.detail)
        assert in_words == "According to the imported file, the reader unsubscribed."

    @pytest.mark.parametrize(("left_at", "stays"), [("", True), ("2020-01-01", True), ("2", False)])
    def test_an_opted_in_reader_stays_unless_they_left_later(
        self, import_rows: ImportRows, left_at: str, stays: bool
    ) -> None:
        sign_up(ADA)
        press(get_current())
        left_at = left_at if stays else f"{datetime.now(UTC).year + 1}-01-01 00:00:00"
        printed = import_rows(f"{ADA},unsubscribed,{left_at}", header=self.HEADER)
        assert get_current().state == ("confirmed" if stays else "unsubscribed")
        assert confirmed().exists() is stays
        assert Suppression.objects.exists() is not stays
        assert ("They stay subscribed." in printed.text) is stays

    @pytest.mark.parametrize("form", OF_FORMS)
    def test_a_pending_reader_gets_no_unrequested_mail(
        self, import_rows: ImportRows, form: str
    ) -> None:
        import_rows(f"{ADA},Ada")
        import_rows(*self.ROW, header=self.HEADER)
        reader = get_current()
        assert reader.state == "pending"
        assert not_to_mail([reader.pk], "confirmation") == {reader.pk: "suppressed"}
        # The reader's own sign-up lifts this suppression.
        sign_up(ADA, how=form)
        assert not_to_mail([reader.pk], "confirmation") == {}
        press(reader)
        assert confirmed().exists()

    @pytest.mark.parametrize("state", STATES)
    def test_the_most_serious_state_is_kept(self, import_rows: ImportRows, state: str) -> None:
        SubscriberFactory(email=ADA, state=state)
        import_rows(f"{ADA},bounced,", header=self.HEADER)
        assert get_current().state == state

    def test_a_more_serious_suppression_is_kept(self, import_rows: ImportRows) -> None:
        SuppressionFactory(address_key=ADA, reason="complaint")
        import_rows(*self.ROW, header=self.HEADER)
        entry = Suppression.objects.get()
        assert (entry.reason, entry.origin) == ("complaint", "provider")

    def test_only_the_readers_opt_in_resubscribes(self, import_rows: ImportRows) -> None:
        reader = SubscriberFactory(email=ADA)
        block(reader.pk)
        import_rows(*self.ROW, header=self.HEADER)
        unblock(reader.pk)
        assert Suppression.objects.get().lifted_at is None
        assert import_rows(f"{ADA},Ada", options=CONFIRMED).counts == {"skipped": 1}
        assert not confirmed().exists()
        sign_up(ADA)
        press(get_current())
        assert confirmed().exists()

    def test_a_blocked_reader_keeps_the_state_and_gets_nothing(
        self, import_rows: ImportRows
    ) -> None:
        SubscriberFactory(email=ADA)
        import_rows(f"{ADA},blocked,", header=self.HEADER)
        assert get_current().state == "confirmed"
        assert not confirmed().exists()
        assert "another newsletter service blocked it" in import_rows(f"{ADA},Ada").text

    @pytest.mark.parametrize("is_first", [True, False])
    def test_an_operator_cannot_lift_a_block_by_another_source(
        self, import_rows: ImportRows, is_first: bool
    ) -> None:
        reader = SubscriberFactory(email=ADA)
        if not is_first:
            block(reader.pk)
        import_rows(f"{ADA},blocked,", header=self.HEADER)
        if is_first:
            block(reader.pk)
        unblock(reader.pk)
        entry = Suppression.objects.get()
        assert (entry.origin, entry.reason, entry.lifted_at) == ("import", "manual", None)
        assert not confirmed().exists()
        sign_up(ADA)
        press(reader)
        assert confirmed().exists()

    def test_an_erased_address_is_not_stored_again(self, import_rows: ImportRows) -> None:
        assert erase(SubscriberFactory(email=ADA).pk)
        printed = import_rows(*self.ROW, header=self.HEADER)
        assert printed.counts == {"skipped": 1}
        assert tables_that_hold(ADA) == []


@pytest.mark.parametrize("between", [0, CHUNK])
@pytest.mark.parametrize("later", ["subscribed", "unsubscribed"])
def test_an_unsubscribed_row_counts_anywhere_in_the_file(
    import_rows: ImportRows, between: int, later: str
) -> None:
    first = "unsubscribed" if later == "subscribed" else "subscribed"
    others = [f"reader{number}@example.org,subscribed" for number in range(between)]
    rows = [f"{ADA},{first}", *others, f"{ADA.upper()},{later}"]
    dry = import_rows(*rows, header="email,status", options=("--dry-run", *CONFIRMED))
    printed = import_rows(*rows, header="email,status", options=CONFIRMED)
    assert printed.counts == dry.counts
    assert printed.counts["skipped"] == 1
    assert confirmed().count() == between
    assert Suppression.objects.get().address_key == ADA


def stated(header: str, row: str, *more: str, mapping: tuple[tuple[str, str], ...] = ()) -> object:
    """Return the status of the first row of a file with this header."""
    records = [(n, line.split(",")) for n, line in enumerate((header, row, *more), 1)]
    layout = layout_of(records, mapping)
    assert layout is not None
    if layout.status is None:
        return None
    result = layout.status.of(records[1][1])
    return result.status if isinstance(result, RowStatus) else sentence_of(result)


@pytest.mark.parametrize(
    ("header", "row", "status"),
    [
        ("email,status", "a@x.org,Opted-In", "subscribed"),
        ("email,Subscription Status", "a@x.org, SUBSCRIBED ", "subscribed"),
        ("email,state", "a@x.org,junk", "complained"),
        ("email,subscribed", "a@x.org,yes", "subscribed"),
        ("email,subscribed", "a@x.org,0", "unsubscribed"),
        ("email,subscribed", "a@x.org,2024-05-01", "subscribed"),  # a date means yes
        ("email,unsubscribed", "a@x.org,no", "subscribed"),
        ("email,unsubscribed_at", "a@x.org,", "unconfirmed"),  # silence is not consent
        ("email,unsubscribed_at", "a@x.org,0001-01-01 00:00:00 +0000 UTC", "unconfirmed"),
        ("email,unsubscribed_at", "a@x.org,5/1/2024", "unsubscribed"),
        ("email,status,bounced_at", "a@x.org,active,2024-05-01", "bounced"),
        ("email,status,complained,unsubscribed", "a@x.org,active,1,1", "complained"),
        ("email,confirmed", "a@x.org,false", "unconfirmed"),
        ("email,status", "a@x.org,inactive", "The status “inactive” in “status” is unknown."),
        ("email,status", "a@x.org,", "The status in “status” is empty."),
        ("email,status", "a@x.org", "The status in “status” is empty."),
        ("email,unsubscribed", "a@x.org,soon", "The status “soon” in “unsubscribed” is unknown."),
        ("email,city,state", "a@x.org,Wick,CA", None),  # a state of a country
        ("email,city,state", "a@x.org,Wick,active", "subscribed"),
        ("first_name,email,created_at,status", "A,a@x.org,2024-05-01,inactive", "unconfirmed"),
        ("email,Type,Stripe plan,Emails received (6mo)", "a@x.org,Free,,9", "unconfirmed"),
        ("email,name", "a@x.org,Ada", None),
    ],
)
def test_columns_of_any_product_are_recognised_by_name(
    header: str, row: str, status: str | None
) -> None:
    assert stated(header, row) == status


class TestMapping:
    """The option `--map COLUMN=FIELD`."""

    def test_columns_are_read_as_mapped(self, import_rows: ImportRows) -> None:
        printed = import_rows(
            "boss@example.org,Reed,ada@example.org,Ada,weg,sleeping",
            "boss@example.org,Reed,bob@example.org,Bob,active,sleeping",
            header="Email,Nachname,Kontaktpunkt,Rufname,Stand,status",
            options=(
                *("--map", "kontaktpunkt=email", "--map", "Rufname=name", "--map", "Nachname=name"),
                *("--map", "Stand=status", "--map", "status=-", *CONFIRMED),
            ),
        )
        assert the_list() == {"bob@example.org": ("Bob Reed", "confirmed")}
        assert printed.counts == {"added": 1, "rejected": 1}

    def test_numbers_name_columns_without_a_header(self, import_rows: ImportRows) -> None:
        options = ("--map", "2=email", "--map", "column 1=-")
        import_rows("Ada,ada@example.org", header="Bob,bob@example.org", options=options)
        assert the_list() == {
            "ada@example.org": ("", "pending"),
            "bob@example.org": ("", "pending"),
        }

    def test_a_mapped_column_keeps_its_own_meaning(self) -> None:
        mapping = (("email_disabled", "status"),)
        assert stated("email,email_disabled", "a@x.org,true", mapping=mapping) == "unsubscribed"

    @pytest.mark.parametrize(("column", "at"), [("column 3", 2), ("Column3", 1), ("column 9", 3)])
    def test_a_number_as_homing_writes_it_is_no_header(self, column: str, at: int) -> None:
        records = [(1, ["email", "Column3", "shoe", "Column9"]), (2, ["a@x.org", "1", "2", "3"])]
        layout = layout_of(records, ((column, "name"),))
        assert layout is not None
        assert layout.fields == {"name": (at,)}

    def test_another_mapping_is_a_new_import(self, import_rows: ImportRows) -> None:
        rows = ("ada@example.org,Ada,bob@example.org", "cy@example.org,Cy,bob@example.org")
        for options, created in (
            ((), True),
            (("--map", "by=email"), True),
            (("--map", " BY=email"), False),
            (("--map", "by=email", "--map", "name=-"), True),
            ((), False),
        ):
            printed = import_rows(*rows, header="email,name,by", options=options)
            assert printed.summary["created"] is created
        assert the_list()["bob@example.org"] == ("Ada", "pending")

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (["name"], "“name” maps no column. Write COLUMN=email"),
            (["name=town"], "“name=town” maps no column. Write COLUMN=email"),
            (["name=tag:"], "“name=tag:” maps no column. Write COLUMN=email"),
            (["town=name"], "The file has no column “town”. Its columns are “email”"),
            (["9=name"], "The file has no column “9”."),
            (["name=name", "name=-"], "The column “name” is mapped twice"),
            (["name=email", "email=email"], "Two columns are mapped to email"),
        ],
    )
    def test_a_wrong_mapping_is_refused_with_one_sentence(
        self, import_rows: ImportRows, options: list[str], sentence: str
    ) -> None:
        words = [word for option in options for word in ("--map", option)]
        with pytest.raises(CommandError, match=f"^{re.escape(sentence)}"):
            import_rows("ada@example.org,Ada", options=tuple(words))
        assert the_list() == {}


def test_only_unconfirmed_readers_are_asked(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    path = file_of("ada@example.org,pending", "bob@example.org,active", header="email,status")
    import_subscribers(path, "--confirmed", "--consent", "At the fair")
    requests = dict(Subscriber.objects.values_list("email", "requests"))
    assert requests == {"ada@example.org": 1, "bob@example.org": 0}
    lines = ConsentRecord.objects.order_by("id").values_list("request", "detail")
    assert [(request, "fair" in detail) for request, detail in lines] == [(1, False), (None, True)]
