"""Signing up by the form: what is put on record, what is mailed, and what nobody gets to know."""

import time
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from delivery.models import Batch, Delivery, Edition, Newsletter
from subscribers.confirmed_readers import confirmed
from subscribers.consent.consent_wording import SIGN_UP, SIGN_UP_BUTTON
from subscribers.models import ConsentRecord, ConsentWording, Subscriber
from subscribers.signup.signup_form import SignUpForm, sign_time
from tests.subscribers.factories import SubscriberFactory, SuppressionFactory
from tests.subscribers.signup_browser import (
    ADA,
    OverTls,
    days_pass,
    get_current,
    ledger_of,
    mails_to,
    press,
    sign_up,
    visitor,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_limit_of_the_network(settings: LazySettings) -> None:
    settings.SIGN_UPS_PER_HOUR = 1000


def test_a_sign_up_is_pending_and_gets_one_mail(settings: LazySettings) -> None:
    answer = sign_up(ADA, "Buy at https://bad.example")

    assert answer.status_code == 200
    assert "Check your inbox" in answer.text
    reader = get_current()
    assert (reader.email, reader.name) == (ADA, "Buy at https://bad.example")
    assert (reader.state, reader.source) == ("pending", "sign-up")
    assert mails_to(ADA) == [1]
    assert not confirmed().exists()
    # It goes ahead of newsletters, and holds no name that somebody typed.
    edition, copy = Edition.objects.get(), Delivery.objects.get()
    assert edition.kind == Edition.Kind.CONFIRMATION
    assert edition.stream == settings.POSTMARK_TRANSACTIONAL_STREAM
    assert Batch.objects.get().position == 0
    assert "bad.example" not in f"{edition.html_mail}{edition.text_mail}{edition.title}{copy.name}"


def test_when_how_from_where_and_by_which_words_they_asked_is_on_record() -> None:
    page = visitor().get("/").text
    sign_up(ADA, "Ada", ip="203.0.113.77")

    line = ConsentRecord.objects.get()
    assert (line.act, line.how, line.request, line.name) == ("asked", "form", 1, "Ada")
    assert line.network == "203.0.113.0/24"
    wording = ConsentWording.objects.get(pk=line.wording_id).text
    for words in (SIGN_UP, SIGN_UP_BUTTON, Newsletter.objects.get_current().name):
        assert str(words) in wording
        assert str(words) in page


def test_signing_up_again_sends_it_again_to_the_address_as_first_typed() -> None:
    sign_up("Ada.W@PostHouse.example.org")
    sign_up("ADA.w@posthouse.example.org")
    assert mails_to("Ada.W@posthouse.example.org") == [1, 2]
    reader = get_current("ada.w@posthouse.example.org")
    assert ledger_of(reader) == [("asked", "form", 1), ("asked", "form", 2)]


def test_a_name_typed_beside_a_known_address_changes_nothing_until_they_confirm() -> None:
    reader = SubscriberFactory(email=ADA, name="Ada Whitlock")
    sign_up(ADA, "Somebody Else")
    reader.refresh_from_db()
    assert reader.name == "Ada Whitlock"
    press(reader)
    reader.refresh_from_db()
    assert reader.name == "Somebody Else"


def addresses_of_every_kind() -> dict[str, str]:
    """One address for each thing that may have become of somebody."""
    for state in Subscriber.State:
        SubscriberFactory(state=state, email=f"{state.value}@posthouse.example.org")
    for reason in ("bounce", "complaint"):
        SuppressionFactory(address_key=f"{reason}@posthouse.example.org", reason=reason)
    SuppressionFactory(
        address_key="shut.out@posthouse.example.org", reason="manual", origin="operator"
    )
    erased = SubscriberFactory(email="erased@posthouse.example.org")
    with connection.cursor() as cursor:
        cursor.execute("SELECT erase_subscriber(%s, %s)", [erased.pk, b"hashed"])
    for _ in range(3):
        sign_up("limited@posthouse.example.org")
    kinds = [*Subscriber.State.values, "unknown", "bounce", "complaint", "shut.out", "erased"]
    return {kind: f"{kind}@posthouse.example.org" for kind in (*kinds, "limited")}


def test_the_answer_is_the_same_whoever_the_address_belongs_to() -> None:
    kinds = addresses_of_every_kind()
    before = dict(Subscriber.objects.values_list("email", "state"))

    answers = {kind: sign_up(email, "Another Name") for kind, email in kinds.items()}

    assert len(answers) == 11
    assert len({answer.content for answer in answers.values()}) == 1
    assert {answer.status_code for answer in answers.values()} == {200}
    for answer in answers.values():
        del answer.headers["X-Request-ID"]  # each request's own
    assert len({tuple(sorted(answer.headers.items())) for answer in answers.values()}) == 1
    assert not any(answer.cookies for answer in answers.values())
    # What anybody can type changes nobody's state.
    after = dict(Subscriber.objects.values_list("email", "state"))
    assert {email: after[email] for email in before} == before
    assert set(after.values()) == {*before.values(), "pending"}


@pytest.mark.parametrize("per_day", [3, 1])
def test_an_address_gets_so_many_mails_a_day_and_then_none_with_the_same_answer(
    settings: LazySettings, per_day: int
) -> None:
    settings.SIGN_UP_MAILS_PER_DAY = per_day
    answers = [sign_up(ADA) for _ in range(5)]
    assert len({answer.content for answer in answers}) == 1
    numbers = list(range(1, per_day + 1))
    assert mails_to(ADA) == numbers
    # That they asked is on record, under a number that no link bears.
    assert [number for *_, number in ledger_of(get_current())] == numbers + [0] * (5 - per_day)

    days_pass(1.0001)
    sign_up(ADA)
    assert mails_to(ADA) == [*numbers, per_day + 1]


class TestTheNetwork:
    """So many sign-ups an hour come from one network, whatever the addresses."""

    @pytest.fixture(autouse=True)
    def _few(self, settings: LazySettings, _no_limit_of_the_network: None) -> None:
        settings.SIGN_UPS_PER_HOUR = 4

    def test_the_eleventh_has_to_wait_and_keeps_its_text(self, settings: LazySettings) -> None:
        settings.SIGN_UPS_PER_HOUR = 10
        for number in range(10):
            assert sign_up(f"reader{number}@posthouse.example.org").status_code == 200

        answer = sign_up(ADA, "Ada Whitlock")

        assert answer.status_code == 429
        assert 3500 < int(answer.headers["Retry-After"]) <= 3600
        assert "There were too many sign-ups from your network" in answer.text
        assert f'value="{ADA}"' in answer.text
        assert 'value="Ada Whitlock"' in answer.text
        assert not Subscriber.objects.filter(email=ADA).exists()
        assert mails_to(ADA) == []
        # It says nothing about the address.
        assert sign_up("reader3@posthouse.example.org").status_code == 429

    def test_of_a_network_with_a_long_past_the_last_hour_alone_is_read(self) -> None:
        """By the index, from the earliest moment that counts."""
        with CaptureQueriesContext(connection) as said:
            sign_up(ip="198.51.100.7")
        (counted,) = [query["sql"] for query in said if "SELECT extract(epoch" in query["sql"]]
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("EXPLAIN " + counted)
            conditions = [line for (line,) in cursor if "Index Cond" in line]

        assert len(conditions) == 2
        assert all("at > (statement_timestamp()" in condition for condition in conditions)

    def test_another_network_is_not_held_up(self) -> None:
        for number in range(4):
            sign_up(f"reader{number}@posthouse.example.org", ip=f"203.0.113.{number}")
        assert sign_up(ADA, ip="203.0.113.200").status_code == 429
        assert sign_up(ADA, ip="198.51.100.7").status_code == 200

    def test_what_a_visitor_says_of_their_address_is_not_believed(self) -> None:
        for number in range(4):
            sign_up(
                f"reader{number}@posthouse.example.org",
                by=OverTls(HTTP_X_FORWARDED_FOR=f"198.51.{number}.7"),
            )
        assert sign_up(ADA, by=OverTls(HTTP_X_FORWARDED_FOR="192.0.2.7")).status_code == 429

    def test_behind_a_proxy_the_address_that_it_added_counts(self, settings: LazySettings) -> None:
        settings.TRUST_PROXY = True
        for number in range(4):
            told = f"198.51.{number}.7, 203.0.113.{number}"
            sign_up(f"reader{number}@posthouse.example.org", by=OverTls(HTTP_X_FORWARDED_FOR=told))

        told = "192.0.2.7, 203.0.113.77"
        assert sign_up(ADA, by=OverTls(HTTP_X_FORWARDED_FOR=told)).status_code == 429
        assert sign_up(ADA, by=OverTls(HTTP_X_FORWARDED_FOR="192.0.2.7")).status_code == 200
        networks = ConsentRecord.objects.values_list("network", flat=True)
        assert set(networks) == {"203.0.113.0/24", "192.0.2.0/24"}

    def test_requests_that_no_mail_answered_count_too(self) -> None:
        # Otherwise the answer to the eleventh would tell how often an address was signed up.
        for _ in range(4):
            assert sign_up(ADA).status_code == 200
        assert sign_up("bram@posthouse.example.org").status_code == 429

    def test_forms_that_come_back_in_no_time_are_let_through_three_times(
        self, settings: Any
    ) -> None:
        settings.SIGN_UP_LEAST_S = 60.0  # a busy machine takes more than the default to answer
        answers = [
            sign_up(f"fast{number}@posthouse.example.org", shown=sign_time(time.time()))
            for number in range(4)
        ]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        slow = sign_time(time.time() - 120)
        assert sign_up(ADA, shown=slow).status_code == 200


@pytest.mark.parametrize("shown", ["", "x", "0.0", "0:forged", sign_time(9e9)])
def test_a_moment_that_we_never_sealed_counts_as_no_time(shown: str) -> None:
    seconds = SignUpForm({"email": ADA, "shown": shown}).seconds_filling_in(time.time())
    assert seconds is not None
    assert seconds < 1


def test_a_program_that_fills_in_every_field_is_told_the_same_and_nothing_happens() -> None:
    person = sign_up("bram@posthouse.example.org")
    program = sign_up(ADA, reply="hello")
    assert (program.status_code, program.content) == (person.status_code, person.content)
    assert not Subscriber.objects.filter(email=ADA).exists()
    assert mails_to(ADA) == []


@pytest.mark.parametrize(
    ("email", "name", "sentence"),
    [
        ("ada@", "", "Enter an address such as ada@example.org."),
        ("x" * 300 + "@example.org", "", "At most 254 are allowed"),
        (ADA, "Ada\x00", "“Name” contains control characters."),
        (f"{ADA}\x00", "", "Enter an address"),
    ],
)
def test_a_mistake_is_said_on_the_page_and_the_text_is_kept(
    email: str, name: str, sentence: str
) -> None:
    answer = sign_up(email, name)
    assert answer.status_code == 422
    assert sentence in answer.text
    assert "Your text is still here" in answer.text
    assert 'aria-invalid="true"' in answer.text
    wrong = "name" if name else "email"
    assert f'<a href="#{wrong}">' in answer.text
    assert f'id="{wrong}"' in answer.text
    assert not Subscriber.objects.exists()


def test_markup_in_a_name_is_text_and_line_breaks_become_blanks() -> None:
    assert "<script" not in sign_up("not an address", '"><script>alert(1)</script>').text
    sign_up(ADA, "<script>alert(1)</script>\r\nBcc: everybody@example.org")
    assert get_current().name == "<script>alert(1)</script> Bcc: everybody@example.org"


def test_a_name_of_ten_megabytes_is_refused_and_not_sent_back() -> None:
    assert visitor().post("/subscriptions/").status_code == 422
    answer = sign_up(ADA, "x" * 10_000_000)
    assert answer.status_code == 422
    assert "At most 256 are allowed" in answer.text
    assert len(answer.content) < 20_000


def test_the_same_transaction_holds_the_sign_up_its_record_and_its_mail() -> None:
    # The mail of this number is there already, so queueing it is refused at the very end.
    reader = SubscriberFactory(email=ADA, state="pending")
    sign_up(ADA)
    Subscriber.objects.filter(pk=reader.pk).update(requests=0)
    with pytest.raises(IntegrityError):
        sign_up(ADA, "Another")
    reader.refresh_from_db()
    assert reader.requests == 0
    assert ledger_of(reader) == [("asked", "form", 1)]


def test_a_form_without_its_token_does_nothing_and_is_shown_again_with_its_text() -> None:
    strict = visitor(strict=True)

    answer = sign_up(ADA, "Ada Whitlock", by=strict, how="embedded form")

    assert answer.status_code == 403
    assert "You are not signed up yet." in answer.text
    assert f'value="{ADA}"' in answer.text
    assert 'value="Ada Whitlock"' in answer.text
    assert not Subscriber.objects.exists()
    again = sign_up(by=strict, csrfmiddlewaretoken=answer.context["csrf_token"])
    assert again.status_code == 200
    token = strict.get("/").context["csrf_token"]
    assert sign_up(by=strict, csrfmiddlewaretoken=token).status_code == 200
    assert mails_to(ADA) == [1, 2]


class TestAFormOnAnotherSite:
    """It may hold our two fields; the button that counts is on our own page."""

    def test_it_changes_nothing_and_shows_our_page_filled_in(self) -> None:
        stranger = visitor(strict=True)

        answer = stranger.post("/subscriptions/embedded/", {"email": ADA, "name": "Ada"})

        assert answer.status_code == 200
        assert f'value="{ADA}"' in answer.text
        assert 'value="Ada"' in answer.text
        assert 'name="how" value="embedded form"' in answer.text
        assert answer.text.count("<button") == 1
        assert not Subscriber.objects.exists()
        token = answer.context["csrf_token"]
        sign_up(by=stranger, how="embedded form", csrfmiddlewaretoken=token)
        assert ledger_of(get_current()) == [("asked", "embedded form", 1)]

    def test_a_way_that_nobody_knows_is_our_form(self) -> None:
        sign_up(how="operator")
        assert ledger_of(get_current()) == [("asked", "form", 1)]

    def test_markup_in_its_fields_is_text(self) -> None:
        typed = {"email": '"><script>', "name": "x" * 9_000_000}
        answer = visitor().post("/subscriptions/embedded/", typed)
        assert "<script" not in answer.text
        assert len(answer.content) < 20_000


@pytest.mark.parametrize("address", ["/subscriptions/", "/subscriptions/embedded/"])
def test_who_comes_to_these_addresses_by_hand_finds_the_form(address: str) -> None:
    page = visitor().get(address)
    assert page.status_code == 200
    assert '<form class="join"' in page.text
    assert page.headers["Cache-Control"] == "private, no-cache"
    assert not Subscriber.objects.exists()
    assert sign_up().headers["Cache-Control"] == "private, no-cache"
