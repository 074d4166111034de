"""Signing up by the form: records, mails and equal answers."""

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
    days_pass,
    get_current,
    ledger_of,
    mails_to,
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
    # The mail is queued ahead of newsletters and does not contain the typed name.
    edition, copy = Edition.objects.get(), Delivery.objects.get()
    assert edition.kind == Edition.Kind.CONFIRMATION
    assert edition.stream == settings.TRANSACTIONAL_STREAM
    assert Batch.objects.get().position == 0
    assert "bad.example" not in f"{edition.html_mail}{edition.text_mail}{edition.title}{copy.name}"


def test_a_sign_up_records_time_way_network_and_wording() -> None:
    page = visitor().get("/").text
    sign_up(ADA, "Ada", ip="203.0.113.77")

    line = ConsentRecord.objects.get()
    assert (line.act, line.how, line.request, line.name) == ("asked", "form", 1, "Ada")
    assert line.network == "203.0.113.0/24"
    wording = ConsentWording.objects.get(pk=line.wording_id).text
    for words in (SIGN_UP, SIGN_UP_BUTTON, Newsletter.objects.get_current().name):
        assert str(words) in wording
        assert str(words) in page


def test_signing_up_again_mails_the_address_as_first_typed() -> None:
    sign_up("Ada.W@PostHouse.example.org")
    sign_up("ADA.w@posthouse.example.org")
    assert mails_to("Ada.W@posthouse.example.org") == [1, 2]
    reader = get_current("ada.w@posthouse.example.org")
    assert ledger_of(reader) == [("asked", "form", 1), ("asked", "form", 2)]


def addresses_of_every_kind() -> dict[str, str]:
    """Make one address for each state of a reader."""
    for state in Subscriber.State:
        SubscriberFactory(state=state, email=f"{state.value}@posthouse.example.org")
    for reason in ("bounce", "complaint"):
        SuppressionFactory(address_key=f"{reason}@posthouse.example.org", reason=reason)
    SuppressionFactory(
        address_key="shut.out@posthouse.example.org", reason="manual", origin="operator"
    )
    erased = SubscriberFactory(email="erased@posthouse.example.org")
    with connection.cursor() as cursor:
        cursor.execute("SELECT erase_subscriber_1(%s, %s)", [erased.pk, b"hashed"])
    for _ in range(3):
        sign_up("limited@posthouse.example.org")
    kinds = [*Subscriber.State.values, "unknown", "bounce", "complaint", "shut.out", "erased"]
    return {kind: f"{kind}@posthouse.example.org" for kind in (*kinds, "limited")}


def test_the_answer_does_not_depend_on_the_address() -> None:
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
    # A sign-up does not change the state of a known reader.
    after = dict(Subscriber.objects.values_list("email", "state"))
    assert {email: after[email] for email in before} == before
    assert set(after.values()) == {*before.values(), "pending"}


@pytest.mark.parametrize("per_day", [3, 1])
def test_mails_per_day_are_limited_without_a_different_answer(
    settings: LazySettings, per_day: int
) -> None:
    settings.SIGN_UP_MAILS_PER_DAY = per_day
    answers = [sign_up(ADA) for _ in range(5)]
    assert len({answer.content for answer in answers}) == 1
    numbers = list(range(1, per_day + 1))
    assert mails_to(ADA) == numbers
    # A sign-up beyond the limit is recorded with the number 0, which no link has.
    assert [number for *_, number in ledger_of(get_current())] == numbers + [0] * (5 - per_day)

    days_pass(1.0001)
    sign_up(ADA)
    assert mails_to(ADA) == [*numbers, per_day + 1]


class TestTheNetwork:
    """Sign-ups per network and hour are limited, whatever the addresses are."""

    @pytest.fixture(autouse=True)
    def _few(self, settings: LazySettings, _no_limit_of_the_network: None) -> None:
        settings.SIGN_UPS_PER_HOUR = 4

    def test_the_eleventh_sign_up_waits_and_keeps_its_text(self, settings: LazySettings) -> None:
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
        # The answer does not depend on the address.
        assert sign_up("reader3@posthouse.example.org").status_code == 429

    def test_the_limit_reads_only_the_last_hour(self) -> None:
        """The index is read from the beginning of the last hour."""
        with CaptureQueriesContext(connection) as queries:
            sign_up(ip="198.51.100.7")
        (counted,) = [query["sql"] for query in queries if "SELECT extract(epoch" in query["sql"]]
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("EXPLAIN " + counted)
            conditions = [line for (line,) in cursor if "Index Cond" in line]

        assert len(conditions) == 2
        assert all("at > (statement_timestamp()" in condition for condition in conditions)

    def test_another_network_is_not_limited(self) -> None:
        for number in range(4):
            sign_up(f"reader{number}@posthouse.example.org", ip=f"203.0.113.{number}")
        assert sign_up(ADA, ip="203.0.113.200").status_code == 429
        assert sign_up(ADA, ip="198.51.100.7").status_code == 200

    def test_unanswered_requests_count_too(self) -> None:
        # Sign-ups that exceed the address's daily limit count for the visitor's limit too.
        # Otherwise the answers would show how often an address was signed up.
        for _ in range(4):
            assert sign_up(ADA).status_code == 200
        assert sign_up("bram@posthouse.example.org").status_code == 429

    def test_fast_forms_are_accepted_three_times(self, settings: Any) -> None:
        settings.SIGN_UP_LEAST_S = 60.0  # a busy machine takes more than the default to answer
        answers = [
            sign_up(f"fast{number}@posthouse.example.org", shown=sign_time(time.time()))
            for number in range(4)
        ]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        slow = sign_time(time.time() - 120)
        assert sign_up(ADA, shown=slow).status_code == 200


@pytest.mark.parametrize("shown", ["", "x", "0.0", "0:forged", sign_time(9e9)])
def test_a_forged_time_counts_as_too_fast(shown: str) -> None:
    assert SignUpForm({"email": ADA, "shown": shown}).is_too_fast(time.time())


def test_a_program_in_the_honeypot_gets_the_usual_answer() -> None:
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
        (ADA, "Ada\x00", "“Name” contains invisible control characters. Remove them."),
        (f"{ADA}\x00", "", "Enter an address"),
    ],
)
def test_an_error_is_shown_and_the_text_is_kept(email: str, name: str, sentence: str) -> None:
    answer = sign_up(email, name)
    assert answer.status_code == 422
    assert sentence in answer.text
    assert "Your text is still here" in answer.text
    assert ("\N{REPLACEMENT CHARACTER}" in answer.text) == ("\x00" in email + name)
    assert "\x00" not in answer.text
    assert 'aria-invalid="true"' in answer.text
    wrong = "name" if name else "email"
    assert f'<a href="#{wrong}">' in answer.text
    assert f'id="{wrong}"' in answer.text
    assert not Subscriber.objects.exists()


def test_markup_in_a_name_is_escaped() -> None:
    assert "<script" not in sign_up("not an address", '"><script>alert(1)</script>').text
    sign_up(ADA, "<script>alert(1)</script>\r\nBcc: everybody@example.org")
    assert get_current().name == "<script>alert(1)</script> Bcc: everybody@example.org"


def test_a_huge_name_is_refused_and_not_returned() -> None:
    assert visitor().post("/subscriptions/").status_code == 422
    answer = sign_up(ADA, "x" * 10_000_000)
    assert answer.status_code == 422
    assert "At most 256 are allowed" in answer.text
    # The values of a form on another site are shown again in our form, without a check.
    typed = {"email": ADA, "name": "x" * 9_000_000}
    elsewhere = visitor().post("/subscriptions/embedded/", typed)
    assert max(len(page.content) for page in (answer, elsewhere)) < 20_000


def test_an_unknown_way_counts_as_our_form() -> None:
    sign_up(how="operator")
    assert ledger_of(get_current()) == [("asked", "form", 1)]


def test_sign_up_record_and_mail_share_one_transaction() -> None:
    # The mail with the next number exists already, so queueing it again fails at the end of the
    # sign-up.
    reader = SubscriberFactory(email=ADA, state="pending")
    sign_up(ADA)
    Subscriber.objects.filter(pk=reader.pk).update(requests=0)
    with pytest.raises(IntegrityError):
        sign_up(ADA, "Another")
    reader.refresh_from_db()
    assert reader.requests == 0
    assert ledger_of(reader) == [("asked", "form", 1)]


def test_a_form_without_csrf_token_is_shown_again() -> None:
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


@pytest.mark.parametrize("address", ["/subscriptions/", "/subscriptions/embedded/"])
def test_opening_the_form_urls_shows_the_form(address: str) -> None:
    page = visitor().get(address)
    assert page.status_code == 200
    assert '<form class="join ' in page.text
    assert page.headers["Cache-Control"] == "private, no-cache"
    assert not Subscriber.objects.exists()
    assert sign_up().headers["Cache-Control"] == "private, no-cache"
