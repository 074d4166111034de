"""Files with a status that says nothing about the subscription."""

import pytest
from django.core.management import CommandError

from delivery.models import Delivery
from subscribers.models import ConsentRecord, Subscriber, SubscriberImport
from tests.publishing.author_browser import WindowOf
from tests.subscribers.conftest import ImportRows
from tests.subscribers.factories import SubscriberFactory, SuppressionFactory, the_list
from tests.subscribers.importing.import_browser import run_workers, uploaded

pytestmark = pytest.mark.django_db(transaction=True)

LISTMONK = "uuid,email,name,attributes,status,created_at,updated_at"
STATED = ("--confirmed", "--consent", "Weekly, double opt-in", "--list-is-confirmed")
SAYS_SO = "The importer stated that the exported list had confirmed subscriptions only."
DETAIL = (
    "Weekly, double opt-in; The file does not say whether the reader confirmed. The same statement "
    "covers it: the exported list had confirmed subscriptions only"
)

NO_MAIL = "According to the file, this reader must not be mailed. The address is suppressed."


def row(name: str, status: str) -> str:
    return f"1,{name}@example.org,{name},{{}},{status},2024-03-01 09:30:00 +0000 UTC,"


ROWS = (row("ada", "enabled"), row("bob", "disabled"), row("cy", "blocklisted"))


def test_a_stated_list_confirms_enabled_readers_only(import_rows: ImportRows) -> None:
    SubscriberFactory(email="left@example.org", state="unsubscribed")
    SuppressionFactory(address_key="hurt@example.org", reason="complaint")
    rows = (*ROWS, row("left", "enabled"), row("hurt", "enabled"))

    dry = import_rows(*rows, header=LISTMONK, options=(*STATED, "--dry-run"))
    printed = import_rows(*rows, header=LISTMONK, options=STATED)

    assert dry.counts == printed.counts == {"added": 1, "skipped": 4}
    assert not any("--list-is-confirmed" in line for line in dry.lines)
    assert SAYS_SO in printed.lines
    assert f"line 3 skipped: bob@example.org: {NO_MAIL}" in printed.lines
    assert "Statuses: Nothing about the subscription: 3; Not to be mailed, suppressed: 2" in (
        printed.lines
    )
    assert "  added                1  as confirmed; consent given elsewhere" in dry.lines
    assert the_list() == {
        "ada@example.org": ("ada", "confirmed"),
        "left@example.org": ("Ada Whitlock", "unsubscribed"),
    }
    assert not Delivery.objects.exists()
    assert DETAIL in ConsentRecord.objects.get(subscriber__email="ada@example.org").detail
    again = import_rows(*rows, header=LISTMONK, options=("--confirmed",))
    assert "The earlier import used --list-is-confirmed. This does not change." in again.lines


def test_without_the_statement_about_the_list_readers_are_asked(import_rows: ImportRows) -> None:
    dry = import_rows(*ROWS, header=LISTMONK, options=("--confirmed", "--dry-run"))
    assert any("say whether 1 new reader confirmed" in line for line in dry.lines)
    printed = import_rows(*ROWS, header=LISTMONK, options=("--confirmed",))
    assert the_list() == {"ada@example.org": ("ada", "pending")}
    assert any("does not say whether a reader confirmed" in line for line in printed.lines)


@pytest.mark.parametrize(
    ("status", "subscription", "state"),
    [
        ("enabled", "confirmed", "confirmed"),
        ("enabled", "unconfirmed", "pending"),
        ("enabled", "unsubscribed", None),
        ("disabled", "confirmed", None),
        ("enabled", "", None),
    ],
)
def test_a_status_of_the_subscription_decides(
    import_rows: ImportRows, status: str, subscription: str, state: str | None
) -> None:
    header = f"{LISTMONK},subscription_status"
    import_rows(f"{row('ada', status)},{subscription}", header=header, options=("--confirmed",))
    assert the_list() == ({"ada@example.org": ("ada", state)} if state else {})


@pytest.mark.parametrize(
    ("header", "line", "options"),
    [
        ("email,state,first_name,created_at", "ada@example.org,enabled,,", ()),
        ("email,subscribed_to_emails", "ada@example.org,enabled", ()),
        ("email,status", "ada@example.org,subscribed", ()),
        ("email,name", "ada@example.org,Ada", ()),
        (LISTMONK, row("ada", "enabled"), ("--map", "status=-")),
        (f"{LISTMONK},subscription_status", f"{row('ada', 'enabled')},confirmed", ()),
    ],
)
def test_files_that_say_it_themselves_refuse_the_statement(
    import_rows: ImportRows, header: str, line: str, options: tuple[str, ...]
) -> None:
    with pytest.raises(CommandError, match="This file has no such row"):
        import_rows(line, header=header, options=(*STATED, *options))
    assert not SubscriberImport.objects.exists()


def test_the_statement_about_the_list_needs_the_other(import_rows: ImportRows) -> None:
    with pytest.raises(CommandError, match="--list-is-confirmed needs --confirmed"):
        import_rows(*ROWS, header=LISTMONK, options=("--list-is-confirmed",))


def test_a_list_without_a_service_can_be_stated_too(import_rows: ImportRows) -> None:
    import_rows("ada@example.org,enabled", header="email,status", options=STATED)
    assert Subscriber.objects.get().state == "confirmed"


def test_the_page_offers_the_statement_and_records_it(window: WindowOf) -> None:
    address = uploaded(window, "\n".join((LISTMONK, *ROWS, "")).encode())
    page = window.get(address)
    assert "does not say whether 1 new reader confirmed" in page.words
    stated = {"consent": "elsewhere", "states_it": "yes", "where": "Weekly, double opt-in"}

    window.post(f"{address}import/", **stated, list_is_confirmed="yes")
    run_workers()

    page = window.get(address)
    assert "as confirmed: 1. Consent given elsewhere, stated by Edith" in page.words
    assert SAYS_SO in page.words
    record = Subscriber.objects.get().consent_records.get()
    assert record.detail.startswith(f"Consent given elsewhere, stated by Edith Marlow: {DETAIL}")


def test_the_page_refuses_the_statement_for_other_files(window: WindowOf) -> None:
    address = uploaded(window, b"email,status\nada@example.org,subscribed\n")
    assert "list_is_confirmed" not in window.get(address).source
    stated = {"consent": "elsewhere", "states_it": "yes", "where": "Fair"}
    page = window.post(f"{address}import/", **stated, list_is_confirmed="yes")
    assert "This file has no such row. Leave the statement out." in page.words
    assert SubscriberImport.objects.get().state == "checked"
