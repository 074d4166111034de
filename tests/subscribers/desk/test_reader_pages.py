"""The desk's pages about readers: permissions, contents and actions."""

import csv
import io
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection, connections
from django.test import Client
from django.utils import timezone

from delivery.models import SuppressionChange
from publishing.activity.activity_sentences import plain_sentence_of
from subscribers.desk import reader_list
from subscribers.desk.reader_actions import ACTIONS
from subscribers.desk.reader_filter import ReaderFilter
from subscribers.desk.reader_list import SEARCH_S
from subscribers.leaving.leave import leave
from subscribers.models import ReaderFieldDefinition, Subscriber, Suppression, Tag
from subscribers.suppression import manual_suppression
from tests.subscribers.factories import (
    SubscriberFactory,
    SubscriberImportFactory,
    SuppressionFactory,
)
from tests.subscribers.importing.import_browser import someone
from tests.subscribers.search_all_tables import tables_that_hold

pytestmark = pytest.mark.django_db
READERS = "/admin/newsletters/readers/"


@pytest.fixture
def operator(settings: LazySettings) -> Client:
    """Sign in a user who may manage readers, without the redirect to HTTPS."""
    settings.SECURE_SSL_REDIRECT = False
    client = Client()
    client.force_login(someone("edith", "manage_readers"))
    return client


def page_of(reader: Subscriber, name: str = "") -> str:
    return f"{READERS}{reader.pk}/{name}/" if name else f"{READERS}{reader.pk}/"


def shown(page: object) -> str:
    """Return the page as one line, without line breaks next to tags."""
    text = page.content.decode().replace("<wbr>", "")  # type: ignore[attr-defined]
    return " ".join(re.sub(r"\s*\n\s*(?=<)|(?<=>)\s*\n\s*", "", text).split())


def test_the_list_counts_states_and_shows_newest_first(operator: Client) -> None:
    SubscriberFactory.create_batch(3)
    SubscriberFactory(state="pending", email="newest@posthouse.example.org", name="<b>Ada</b>")

    page = shown(operator.get(READERS))
    asked = shown(operator.get(READERS, {"state": "pending"}))

    assert "3 readers have confirmed." in page
    assert "1 reader has not confirmed yet" in page
    assert 'Confirmed<span class="small">3</span>' in page
    assert 'All<span class="small">4</span>' in page
    assert page.index("newest@") < page.index(">reader")
    assert "newest@" in asked
    assert "&lt;b&gt;Ada&lt;/b&gt;" in asked
    assert ">reader" not in asked


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ada", {"ada@", "somebody@"}),
        ("ADA@post", {"ada@"}),
        ("lovelace", {"somebody@"}),
        ("%", set()),
        ("a_a", set()),
        ("\\", set()),
        ("'; --\ufffd☃", set()),
        ("@", {"ada@", "somebody@", "other@"}),
        ("@posthouse.example", {"ada@", "somebody@", "other@"}),
        ("THER@posthouse", {"other@"}),
        ("a@post", {"ada@"}),
        ("@a@", set()),
        ("  ada@  ", {"ada@"}),
        ("a\0da@", {"ada@"}),
    ],
)
def test_a_search_finds_addresses_and_names(operator: Client, text: str, found: set[str]) -> None:
    SubscriberFactory(email="ada@posthouse.example.org", name="")
    SubscriberFactory(email="somebody@posthouse.example.org", name="Ada Lovelace")
    SubscriberFactory(email="other@posthouse.example.org", name="Bram")
    page = shown(operator.get(READERS, {"q": text}))
    assert {who for who in ("ada@", "somebody@", "other@") if f">{who}post" in page} == found


@pytest.mark.parametrize(
    ("text", "finds"),
    [
        ("ada@müller.例え.example", True),
        ("\u202aADA@MU\u0308LLER.例え.example\u202c", True),
        ("müller", True),
        ("da@müller.例え.ex", True),
        ("müllerei", False),
        ("ü@müller.例え.example", False),
    ],
)
def test_a_search_finds_either_spelling_of_a_domain(
    operator: Client, text: str, finds: bool
) -> None:
    SubscriberFactory(email="ada@xn--mller-kva.xn--r8jz45g.example", name="Mälzer")
    SubscriberFactory(email="ada@xn--mllers-3ya.example", name="")
    assert (">ada@xn--mller-kva.xn--r8jz45g" in shown(operator.get(READERS, {"q": text}))) is finds


def test_a_search_says_why_an_address_gets_nothing(operator: Client) -> None:
    SubscriberFactory(email="other@example.org")
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    SuppressionFactory(address_key="ben@example.org", reason="complaint", at=at)
    page = shown(operator.get(READERS, {"q": "Ben@example.org"}))
    sentence = "The address has been suppressed since 1 Mar 2026 and gets no letters: {}."
    assert sentence.format("its owner marked a letter as spam") in page
    assert "been suppressed" not in shown(operator.get(READERS, {"q": "ben@example"}))
    SuppressionFactory(address_key="ben@xn--mller-kva.example")
    assert "been suppressed since" in shown(
        operator.get(READERS, {"q": "ben@müller.example\u200b"})
    )
    SubscriberFactory(email="Ben@example.org")
    assert "been suppressed" not in shown(operator.get(READERS, {"q": "ben@example.org"}))


@pytest.mark.django_db(transaction=True)
def test_a_slow_search_is_stopped_with_advice(operator: Client) -> None:
    SubscriberFactory(email="ada@example.org", name="Ada Whitlock")
    address = f"{READERS}?q=Whitlock"
    elsewhere = connections.create_connection("default")
    try:
        with elsewhere.cursor() as cursor:
            cursor.execute("BEGIN")
            # The page reads the imports of its readers, so it waits for this lock.
            cursor.execute("LOCK TABLE subscriber_import IN ACCESS EXCLUSIVE MODE")
            page = operator.get(address)
            cursor.execute("ROLLBACK")
    finally:
        elsewhere.close()

    assert page.status_code == 503
    assert f"The search found nothing within {SEARCH_S} seconds and was stopped." in shown(page)
    assert "ada@example.org" not in shown(page)
    again = operator.get(address)
    assert again.status_code == 200
    assert "ada@example.org" in shown(again)
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)


@pytest.mark.django_db(transaction=True)
def test_a_lost_connection_is_not_reported_as_a_slow_search() -> None:
    connection.ensure_connection()
    elsewhere = connections.create_connection("default")
    try:
        with elsewhere.cursor() as cursor:
            pid = connection.connection.info.backend_pid
            cursor.execute("SELECT pg_terminate_backend(%s, 20000)", [pid])
            assert cursor.fetchone() == (True,)
        with pytest.raises(OperationalError):
            reader_list.load_page(ReaderFilter())
    finally:
        elsewhere.close()
        connection.close()


def test_pages_of_readers_have_no_gaps_or_duplicates(operator: Client) -> None:
    everybody = {reader.email for reader in SubscriberFactory.create_batch(120)}
    assert "50 readers on this page" in shown(operator.get(READERS))
    seen: list[str] = []
    address: str | None = READERS
    while address:
        page = shown(operator.get(address))
        cells = page.split('<th scope="row">')[1:]
        seen += [cell.partition("</a>")[0].rpartition(">")[2] for cell in cells]
        before = page.partition('" rel="next"')[0].rpartition('href="')[2]
        address = READERS + before if 'rel="next"' in page else None
        SubscriberFactory()  # A reader who joins meanwhile does not shift the page.

    assert len(seen) == len(set(seen)) == 120
    assert set(seen) == everybody
    for no_place in ("x", "-1", "9" * 40, "1e5", ""):
        assert operator.get(READERS, {"before": no_place}).status_code == 200


def test_the_list_of_readers_can_be_sorted(operator: Client) -> None:
    added = [f"{name}{n:02}@example.org" for n in range(30) for name in ("zoe", "Ada")]
    for email in added:
        SubscriberFactory(email=email)

    def sorted_by(sort: str) -> list[str]:
        first = shown(operator.get(READERS, {"sort": sort}))
        following = re.search(r'href="([^"]*)" rel="next"', first)
        assert following
        page = first + shown(operator.get(READERS + following[1].replace("&amp;", "&")))
        return re.findall(r'<th scope="row">.*?>([^<]+)</a>', page, re.S)

    assert sorted_by("oldest") == added
    assert sorted_by("") == sorted_by("created_at") == added[::-1]
    assert sorted_by("address") == sorted(added, key=str.lower)
    assert sorted_by("address-down") == sorted(added, key=str.lower, reverse=True)
    page = shown(operator.get(READERS, {"sort": "address-down"}))
    assert re.findall('<th[^>]*aria-sort="([a-z]+)"><a href="([^"]*)">', page) == [
        ("descending", "?sort=address")
    ]


def test_readers_without_a_name_are_last_in_either_direction(operator: Client) -> None:
    named = [SubscriberFactory(name=name) for name in ("ada", "Bram", "Bram") for _ in range(20)]
    nameless = SubscriberFactory.create_batch(20, name="")
    for filters in (ReaderFilter(), ReaderFilter(state="confirmed")):
        for sort, expected in (("name", named), ("name-down", named[::-1])):
            found: list[Subscriber] = []
            place = None
            while place or not found:
                some, place = reader_list.load_page(filters, place, limit=7, sort=sort)
                found += some
            last = nameless if sort == "name" else nameless[::-1]
            assert found == expected + last


def test_a_reader_who_leaves_meanwhile_does_not_move_the_page(operator: Client) -> None:
    SubscriberFactory.create_batch(2, state="bounced")
    readers = SubscriberFactory.create_batch(52)
    page = shown(operator.get(READERS, {"sort": "state"}))
    address = page.partition('" rel="next"')[0].rpartition('href="')[2].replace("&amp;", "&")
    leave(readers[47].pk)
    page = shown(operator.get(READERS + address))
    assert [f">{one.email}" in page for one in readers[46:]] == [False, True, *4 * [True]]


def test_each_tab_counts_the_readers_who_match_the_search(operator: Client) -> None:
    for state in ("confirmed", "confirmed", "pending"):
        SubscriberFactory(state=state, name="Ada")
    SubscriberFactory.create_batch(3, name="Bram")
    page = shown(operator.get(READERS, {"q": "ada", "state": "bounced"}))
    for tab, number in (("Confirmed", 2), ("Pending", 1), ("Bounced", 0), ("All", 3)):
        assert f'{tab}<span class="small">{number}</span>' in page
    assert "All 2 readers that match" in shown(
        operator.get(READERS, {"q": "ada", "state": "confirmed"})
    )


def test_a_page_costs_a_few_queries(
    operator: Client, django_assert_max_num_queries: Callable[..., object]
) -> None:
    SubscriberFactory.create_batch(50)
    with django_assert_max_num_queries(13):
        operator.get(READERS)


def rows_in(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def download(client: Client, **looked: str) -> list[dict[str, str]]:
    answer = client.get(f"{READERS}readers.csv", looked)
    assert answer.headers["Content-Disposition"].startswith("attachment;")
    assert answer.headers["Cache-Control"] == "no-store"
    return rows_in(b"".join(answer.streaming_content).decode())  # type: ignore[attr-defined]


def test_the_suppressed_addresses_come_as_a_file(operator: Client) -> None:
    SuppressionFactory(address_key="gone@posthouse.example.org", reason="bounce")
    SuppressionFactory(address_key="back@posthouse.example.org", lifted_at=timezone.now())
    answer = operator.get(f"{READERS}suppressed.csv")
    [row] = rows_in(b"".join(answer.streaming_content).decode())  # type: ignore[attr-defined]
    assert (row["email"], row["reason"]) == ("gone@posthouse.example.org", "bounce")
    assert "suppressed.csv" in operator.get(READERS).content.decode()


def test_the_file_contains_all_matching_readers(operator: Client) -> None:
    brought = SubscriberImportFactory(filename="fair.csv")
    SubscriberFactory(
        email="a@posthouse.example.org", source="import", subscriber_import=brought, name="Ada, L."
    )
    SubscriberFactory(email="b@posthouse.example.org", state="unsubscribed")

    (first, second), (gone,) = download(operator), download(operator, state="unsubscribed")

    assert (first["email"], first["name"]) == ("a@posthouse.example.org", "Ada, L.")
    assert first["came_by"] == "import fair.csv"
    assert second["email"] == gone["email"] == "b@posthouse.example.org"
    assert gone["since"]
    assert (
        plain_sentence_of(LogEntry.objects.latest("pk"))
        == "Edith Marlow downloaded the list of readers with the state “Unsubscribed” as CSV."
    )


def test_exported_fields_and_tags_have_columns(operator: Client) -> None:
    for number, key in enumerate(("came_by", "city"), 1):
        ReaderFieldDefinition.objects.create(key=key, label=key, position=number)
    tag = Tag.objects.create(name="Birds; fish")
    SubscriberFactory(fields={"city": "Lyon"}, tags=[tag.pk])
    SubscriberFactory(fields={"came_by": "bike", "gone": "x"})
    first, second = download(operator)
    assert (first["city"], first["came_by"], first["tags"]) == (
        "Lyon",
        "sign-up",
        '["Birds; fish"]',
    )
    # An author's field does not replace a column of the file that has the same name.
    assert (second["came_by"], second["fields.came_by"], second["tags"]) == (
        "sign-up",
        "bike",
        "[]",
    )


def test_exported_cells_are_safe_in_spreadsheets(operator: Client) -> None:
    for name in ("=1+1", "+1", "-1", "@SUM(A1)"):
        SubscriberFactory(name=name, email=f"=cmd{ord(name[0])}@posthouse.example.org")
    rows = download(operator)
    assert {row["name"] for row in rows} == {"'=1+1", "'+1", "'-1", "'@SUM(A1)"}
    assert all(row["email"].startswith("'=") for row in rows)


def test_export_command_writes_the_same_file_and_spares_other_files(tmp_path: Path) -> None:
    SubscriberFactory(email="a@posthouse.example.org")
    SubscriberFactory(email="b@posthouse.example.org", state="bounced")
    pipe, link, path = tmp_path / "pipe", tmp_path / "link", tmp_path / "readers.csv"
    os.mkfifo(pipe)
    link.symlink_to(path)
    out = io.StringIO()

    call_command("export_subscribers", str(link), "--state", "bounced", stdout=out)

    assert [row["email"] for row in rows_in(path.read_text())] == ["b@posthouse.example.org"]
    assert out.getvalue().startswith("1 reader in ")
    assert link.is_symlink()
    with pytest.raises(CommandError, match=r"Homing cannot write .*: No such file or directory\."):
        call_command("export_subscribers", str(tmp_path / "no" / "readers.csv"))
    with pytest.raises(CommandError, match=r"Homing cannot write .*: it is not a regular file\."):
        call_command("export_subscribers", str(pipe))
    assert pipe.is_fifo()
    assert set(tmp_path.iterdir()) == {pipe, link, path}


def test_an_unknown_reader_gives_404(operator: Client) -> None:
    for number in ("0", "99999", "9" * 30):
        assert operator.get(f"{READERS}{number}/").status_code == 404
        assert operator.post(f"{READERS}{number}/erase/").status_code == 404


def test_an_author_can_download_the_data_of_a_reader(operator: Client) -> None:
    reader = SubscriberFactory()
    assert operator.get(f"{page_of(reader)}record.json").json()["address"] == reader.email
    assert plain_sentence_of(LogEntry.objects.get()) == (
        f"Edith Marlow downloaded the data of subscriber {reader.pk}."
    )


@pytest.mark.parametrize("name", list(ACTIONS))
def test_every_action_needs_a_confirmation(operator: Client, name: str) -> None:
    reader = SubscriberFactory()
    if name == "unblock":
        SuppressionFactory(address_key=reader.email, reason="manual", origin="operator")
    if name == "lift-bounce":
        SuppressionFactory(address_key=reader.email)
    page = shown(operator.get(page_of(reader, name)))
    assert f"<h1>{ACTIONS[name].heading}</h1>" in page
    reader.refresh_from_db()
    assert reader.state == "confirmed"
    assert not LogEntry.objects.exists()


def test_an_address_can_be_blocked_and_unblocked(operator: Client) -> None:
    reader = SubscriberFactory()

    operator.post(page_of(reader, "block"))
    standing = Suppression.objects.get()
    assert (standing.reason, standing.origin, standing.lifted_at) == ("manual", "operator", None)
    operator.post(page_of(reader, "unblock"))

    standing.refresh_from_db()
    assert standing.lifted_at is not None
    assert list(SuppressionChange.objects.order_by("id").values_list("change", flat=True)) == [
        "suppress",
        "reactivate",
    ]
    # Links and programs may still use the former names of the actions.
    operator.post(page_of(reader, "shut-out"))
    standing.refresh_from_db()
    assert standing.lifted_at is None
    operator.post(page_of(reader, "let-in"))
    standing.refresh_from_db()
    assert standing.lifted_at is not None


@pytest.mark.parametrize("reason", ["bounce", "complaint", "unsubscribe"])
def test_unblocking_lifts_only_the_desks_own_block(operator: Client, reason: str) -> None:
    reader = SubscriberFactory()
    SuppressionFactory(address_key=reader.email, reason=reason)
    operator.post(page_of(reader, "block"))
    assert Suppression.objects.get().origin == "operator"
    operator.post(page_of(reader, "unblock"))
    standing = Suppression.objects.get()
    assert (standing.reason, standing.origin, standing.lifted_at) == (reason, "provider", None)


@pytest.mark.parametrize("state", ["pending", "unsubscribed", "bounced", "complained"])
def test_unblocking_reactivates_only_confirmed_readers(state: str) -> None:
    reader = SubscriberFactory(state=state)
    assert manual_suppression.block(reader.pk)
    assert manual_suppression.unblock(reader.pk)
    assert list(SuppressionChange.objects.values_list("change", flat=True)) == ["suppress"]


@pytest.mark.parametrize(
    ("name", "recorded", "words"),
    [
        (
            "unsubscribe",
            "Edith Marlow unsubscribed {}.",
            "Unsubscribed. This took effect immediately.",
        ),
        ("block", "Edith Marlow blocked the address of {}.", ""),
        ("erase", "Edith Marlow erased {}.", "Homing keeps only a hash of the address."),
    ],
)
def test_each_action_is_audited_once(
    operator: Client, name: str, recorded: str, words: str
) -> None:
    reader = SubscriberFactory()

    page = operator.post(page_of(reader, name), follow=True)
    operator.post(page_of(reader, name))

    assert words in shown(page)
    entry = LogEntry.objects.get()
    assert plain_sentence_of(entry) == recorded.format(entry.object_repr)
    assert entry.object_repr == f"subscriber {reader.pk}"
    assert entry.user.username == "edith"
    assert (tables_that_hold(reader.email) == []) is (name == "erase")
