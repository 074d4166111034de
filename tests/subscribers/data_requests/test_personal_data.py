"""Personal data: requested, shown, downloaded and erased."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection, transaction
from django.db.models import F
from django.test import Client
from django.utils.formats import date_format
from django.utils.timezone import localtime

from delivery.feedback import event_inbox
from delivery.models import Delivery, Edition
from delivery.queue import edition_control
from delivery.queue.enqueue_transactional import request_mail
from delivery.tasks import register_background_task
from postmark_sandbox.server import SandboxServer
from subscribers.consent.consent_log import record_consent
from subscribers.data_requests.erase import erase
from subscribers.data_requests.personal_data import load_personal_data
from subscribers.data_requests.personal_data_sentences import describe
from subscribers.data_requests.request_data import UNKNOWN_READER, answer_requests
from subscribers.delivery_hooks import RegisteredReaders
from subscribers.models import Bounce, ConsentRecord, DataRequest, Subscriber
from tests.delivery.conftest import newsroom, provider
from tests.delivery.edition_factory import Newsroom
from tests.publishing.second_connection import PATIENCE_S, beside
from tests.subscribers.data_requests.test_erase import an_event
from tests.subscribers.factories import SOME_DAY, SubscriberFactory, SuppressionFactory, state_of
from tests.subscribers.search_all_tables import tables_that_hold
from tests.subscribers.signup_browser import ADA, days_pass, get_current, sign_up

__all__ = ["newsroom", "provider"]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def without_tls(settings: LazySettings) -> None:
    """Skip the redirect to HTTPS."""
    settings.SECURE_SSL_REDIRECT = False
    settings.SIGN_UPS_PER_HOUR = 1000


def post(address: str, network: str = "203.0.113.7") -> object:
    return Client().post("/record/", {"email": address}, REMOTE_ADDR=network)


def ask(address: str, network: str = "203.0.113.7") -> object:
    """Request the data and let a worker answer."""
    answer = post(address, network)
    answer_requests()
    return answer


def mails_to(reader: Subscriber) -> list[int]:
    """Return the numbers of the mails with a link to the data."""
    return sorted(
        Delivery.objects.filter(
            recipient=reader.pk, issue__in=Edition.objects.filter(kind="record").values("issue")
        ).values_list("version", flat=True)
    )


def link_of(reader: Subscriber, number: int = 1) -> str:
    link = RegisteredReaders().mail_link("record", reader.pk, number)
    return "/" + link.partition("://")[2].partition("/")[2]


def asked(reader: Subscriber) -> str:
    ask(reader.email)
    return link_of(reader)


def test_known_readers_get_a_link_and_answers_are_equal() -> None:
    held = {state: SubscriberFactory(state=state) for state in Subscriber.State.values}
    SuppressionFactory(address_key="shut@posthouse.example.org")

    answers = [ask(reader.email.upper()) for reader in held.values()]
    answers += [ask(f"{who}@posthouse.example.org") for who in ("shut", "nobody")]

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert "If this address is on our list" in answers[0].content.decode()
    for state, reader in held.items():
        assert mails_to(reader) == [1]
        line = ConsentRecord.objects.get(subscriber=reader)
        assert (line.act, line.how, line.network) == ("record asked", "form", "203.0.113.0/24")
        reader.refresh_from_db()
        assert (reader.state, reader.record_requests) == (state, 1)
    assert Delivery.objects.count() == len(held)
    assert tables_that_hold("nobody@posthouse") == []


def statements_for(page: str, address: str) -> list[tuple[str, list[str]]]:
    """Record a request's SQL statements, with the type and length of every value."""
    sent = []

    def note(execute: Callable[..., Any], sql: str, values: Any, many: bool, context: Any) -> Any:
        shapes = [f"{type(value).__name__} {len(str(value))}" for value in values or []]
        sent.append((re.sub(r"s\d+_x\d+", "…", sql), shapes))
        return execute(sql, values, many, context)

    with connection.execute_wrapper(note):
        assert Client().post(page, {"email": address}).status_code == 200
    return sent


@pytest.mark.parametrize("page", ["/record/", "/subscriptions/"])
def test_a_form_costs_the_same_for_every_address(page: str) -> None:
    addresses = {
        who: f"{who:_<12}@posthouse.example.org"
        for who in ("nobody", "shut", "erased", *Subscriber.State.values)
    }
    for state in Subscriber.State.values:
        SubscriberFactory(email=addresses[state], state=state)
    for who in ("shut", "bounced", "complained"):
        SuppressionFactory(address_key=addresses[who])
    erase(SubscriberFactory(email=addresses["erased"]).pk)
    # The very first sign-up also stores the wording of the form.
    statements_for(page, "first@posthouse.example.org")

    costs = {who: statements_for(page, address) for who, address in addresses.items()}

    assert {who: cost for who, cost in costs.items() if cost != costs["nobody"]} == {}


def test_a_failing_request_does_not_delay_others(caplog: pytest.LogCaptureFixture) -> None:
    reader, other = SubscriberFactory(email=ADA), SubscriberFactory()
    request_mail("record", 1, [(reader.pk, ADA)], ahead=True)
    post(ADA)
    post(other.email)
    answer_requests()
    assert mails_to(other) == [1]
    assert not ConsentRecord.objects.filter(subscriber=reader).exists()
    assert register_background_task.is_any_due()
    DataRequest.objects.update(lease_until=None, claims=DataRequest.MOST_CLAIMS)
    answer_requests()
    assert not register_background_task.is_any_due()
    assert "is given up after 6 tries" in caplog.text
    assert ADA not in caplog.text

    Delivery.objects.filter(recipient=reader.pk).delete()
    answer_requests()
    assert DataRequest.objects.exists()
    DataRequest.objects.update(state="waiting", finished_at=None, claims=0)
    answer_requests()
    assert mails_to(reader) == [1]
    assert not DataRequest.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_request_for_a_locked_reader_does_not_delay_others() -> None:
    reader, other = SubscriberFactory(email=ADA), SubscriberFactory()
    post(ADA)
    post(other.email)
    with transaction.atomic():
        Subscriber.objects.select_for_update().get(pk=reader.pk)
        for _ in range(DataRequest.MOST_CLAIMS + 1):
            beside(lambda: DataRequest.objects.update(lease_until=None)).result(PATIENCE_S)
            beside(answer_requests).result(PATIENCE_S)
        assert mails_to(other) == [1]
    DataRequest.objects.update(lease_until=None)
    answer_requests()
    assert mails_to(reader) == [1]


def test_a_waiting_request_is_erased_with_its_address() -> None:
    reader = SubscriberFactory(email=ADA)
    post(ADA.upper())
    erase(reader.pk)
    assert tables_that_hold(ADA) == []
    answer_requests()


def test_the_unsubscribe_page_mails_a_link_and_reveals_nobody() -> None:
    reader, browser = SubscriberFactory(email=ADA, state="confirmed"), Client()

    on_list, stranger, odd = (
        browser.post("/unsubscribe/", {"email": email})
        for email in (ADA, "nobody@posthouse.example.org", "ada@")
    )

    assert (on_list.status_code, stranger.status_code, odd.status_code) == (200, 200, 422)
    assert on_list.content == stranger.content
    assert "to unsubscribe" in on_list.content.decode()
    answer_requests()
    assert mails_to(reader) == [1]
    link = link_of(reader)
    assert f'action="{link}leave/"' in browser.get(link).content.decode()
    page = browser.post(f"{link}leave/", follow=True).content.decode()
    assert state_of(reader) == "unsubscribed"
    assert "Unsubscribed" in page
    assert f"{link}leave/" not in page


def test_the_daily_limit_covers_both_kinds_of_mail() -> None:
    reader = SubscriberFactory(email=ADA, state="pending")
    record_consent(reader.pk, "asked", "form", request=1)
    for _ in range(4):
        assert ask(ADA).status_code == 200
    assert mails_to(reader) == [1, 2]
    days_pass(1)
    ask(ADA)
    assert mails_to(reader) == [1, 2, 3]


@pytest.mark.parametrize("address", [ADA, "nobody@posthouse.example.org"])
@pytest.mark.parametrize("asks", [ask, post], ids=["answered", "waiting"])
def test_requests_of_a_network_are_limited_per_hour(
    settings: LazySettings, address: str, asks: Callable[[str], Any]
) -> None:
    settings.SIGN_UPS_PER_HOUR = 10
    SubscriberFactory(email=ADA)
    answers = [asks(address) for _ in range(11)]
    assert [answer.status_code for answer in answers] == [200] * 10 + [429]
    assert int(answers[-1].headers["Retry-After"]) > 3000
    assert ask(address, network="198.51.100.7").status_code == 200


def test_records_of_unknown_addresses_are_deleted_after_a_day() -> None:
    for _ in range(3):
        ask("nobody@posthouse.example.org")
        days_pass(2)
    ask("nobody@posthouse.example.org")
    assert ConsentRecord.objects.filter(subscriber_id=UNKNOWN_READER).count() == 1


def test_an_invalid_address_or_missing_csrf_token_mails_nobody() -> None:
    SubscriberFactory(email=ADA)
    page = ask("ada@posthouse")
    assert page.status_code == 422
    assert 'value="ada@posthouse"' in page.content.decode()
    assert "aria-invalid" in page.content.decode()
    assert Client(enforce_csrf_checks=True).post("/record/", {"email": ADA}).status_code == 403
    assert not Delivery.objects.exists()


def test_the_mail_leads_to_the_record(newsroom: Newsroom, provider: SandboxServer) -> None:
    reader = SubscriberFactory(email=ADA)
    post(ADA)
    register_background_task.run_all()
    newsroom.deliver_all()

    (message,) = [
        provider.sandbox.outbox.message(number) for number in range(provider.sandbox.outbox.count)
    ]
    (link,) = re.findall(r"https://letter\.example\.org(/record/\S+/)", message.item["TextBody"])

    assert message.item["To"] == ADA
    assert message.item["Subject"].startswith("Unsubscribe, or see your data: ")
    assert link == link_of(reader)
    assert ADA in Client().get(link).content.decode().replace("<wbr>", "")


def test_a_link_works_for_seven_days() -> None:
    reader = SubscriberFactory(email=ADA)
    link = asked(reader)
    days_pass(6)
    for address in (link, f"{link}record.json", f"{link}erase/"):
        page = Client().get(address)
        assert page.status_code == 200
        assert page.headers["Cache-Control"] == "no-store"
        assert page.headers["X-Robots-Tag"] == "noindex"
    days_pass(1)

    for address in (link, f"{link}record.json", f"{link}erase/"):
        page = Client().get(address)
        assert page.status_code == 410
        assert ADA not in page.content.decode().replace("<wbr>", "")
        assert "Request a new link" in page.content.decode()
    for what in ("leave/", "erase/"):
        assert Client().post(link + what).status_code == 410
    assert state_of(reader) == "confirmed"
    # A link shows no data if nobody requested a link with its number.
    assert Client().get(link_of(reader, number=2)).status_code == 410


def test_other_and_forged_links_do_not_open_personal_data() -> None:
    reader = SubscriberFactory(email=ADA)
    link = asked(reader)
    confirm = RegisteredReaders().mail_link("confirmation", reader.pk, 1).rpartition("=")[2]
    (link,) = RegisteredReaders().unsubscribe_urls([reader.pk])
    leave = link.rstrip("/").rpartition("/")[2]

    tokens = [confirm, leave, "x", "A" * 32, link.split("/")[2][:-1]]
    pages = [Client().get(f"/record/{token}/") for token in tokens]

    assert all("This link is damaged" in page.text for page in pages)
    assert len({re.sub(r'value="\w{64}"', "", page.text) for page in pages}) == 1
    assert all('action="/record/"' in page.text for page in pages)


def test_characters_stuck_to_a_data_link_do_not_break_it() -> None:
    reader = SubscriberFactory(email=ADA)
    link = asked(reader)
    for damaged in (f"{link})", f"/{link}", f"{link.rstrip('/')}>", f"{link.rstrip('/')})/"):
        page = Client().get("/", PATH_INFO=damaged)
        assert f'href="{link}erase/"' in page.text, damaged
    assert Client().get(f"{link.rstrip('/')})/erase/").status_code == 200


def test_page_and_file_show_all_personal_data(newsroom: Newsroom, provider: SandboxServer) -> None:
    other = SubscriberFactory(email="other@posthouse.example.org", name="Other")
    record_consent(other.pk, "asked", "form", request=1, values={"name": "Other"})
    reader = SubscriberFactory(email=ADA, name="Ada & Co")
    record_consent(
        reader.pk, "asked", "form", request=1, network="203.0.113.0/24", wording="One a week."
    )
    edition = newsroom.publish(title="Swifts for {{ name|you }}")
    newsroom.deliver_all()
    Bounce.objects.create(
        subscriber=reader, type="SoftBounce", inactive=False, at=SOME_DAY, description="Full."
    )
    SuppressionFactory(address_key=ADA, reason="complaint")
    event_inbox.store(an_event("Bounce", ADA, edition, reader.pk))
    link = asked(reader)

    page = Client().get(link).content.decode().replace("<wbr>", "")
    file = Client().get(f"{link}record.json")
    held = file.json()

    for words in (
        *(ADA, "203.0.113.0/24", "One a week.", "Swifts for Ada &amp; Co", "SoftBounce"),
        *("its owner marked a letter as spam", "Sent: the mail provider accepted it."),
        "Reported by the mail provider",
    ):
        assert words in page
    assert "Other" not in page
    assert "other@" not in page
    assert "<script" not in page
    assert file.headers["Content-Disposition"] == 'attachment; filename="record.json"'
    assert file.headers["Content-Type"] == "application/json"
    assert (held["address"], held["name"], held["state"]) == (ADA, "Ada & Co", "confirmed")
    assert [line["act"] for line in held["ledger"]] == ["asked", "record asked"]
    assert held["ledger"][0]["wording"] == "One a week."
    assert held["copies"][0]["title"] == "Swifts for Ada & Co"
    assert held["copies"][0]["outcome"] == "sent"
    assert held["bounces"][0]["type"] == "SoftBounce"
    assert held["shut_out"]["reason"] == "complaint"
    assert ADA in held["provider_told"][0]["body"]


def a_day_before_all_sign_ups() -> datetime:
    """Move the shared editions of requested mail one day into the past."""
    editions = Edition.objects.exclude(kind=Edition.Kind.NEWSLETTER)
    editions.update(published_at=F("published_at") - timedelta(days=1))
    return editions.latest("published_at").published_at


def test_mails_on_request_show_the_time_of_the_readers_request() -> None:
    first = SubscriberFactory()
    with transaction.atomic():
        for kind in ("confirmation", "record"):
            request_mail(kind, 1, [(first.pk, first.email)], ahead=True)
    shared_at = a_day_before_all_sign_ups()
    sign_up(ADA)
    reader = get_current()
    link = asked(reader)
    requests = ConsentRecord.objects.filter(subscriber=reader).order_by("id")
    signed_up, requested = requests.values_list("at", flat=True)
    assert shared_at < signed_up < requested

    copies = Client().get(f"{link}record.json").json()["copies"]
    page = Client().get(link).content.decode()

    assert [(copy["kind"], datetime.fromisoformat(copy["published_at"])) for copy in copies] == [
        ("confirmation", signed_up),
        ("record", requested),
    ]
    assert date_format(localtime(shared_at), "j M Y, H:i") not in page
    assert page.partition('id="mails"')[2].count(date_format(localtime(signed_up), "j M Y")) == 2


def test_a_mail_without_recorded_request_shows_no_shared_time() -> None:
    reader = SubscriberFactory()
    with transaction.atomic():
        request_mail("confirmation", 1, [(reader.pk, reader.email)], ahead=True)
    a_day_before_all_sign_ups()
    stored = load_personal_data(reader.pk)
    assert stored is not None
    assert [mail["published_at"] for mail in stored.mails] == [reader.created_at]


def press(link: str, what: str) -> object:
    """Post a form as a browser does, with the CSRF token of its page."""
    browser = Client(enforce_csrf_checks=True)
    before = link if what == "leave/" else link + what
    form = browser.get(before).content.decode()
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)[0]
    return browser.post(link + what, {"csrfmiddlewaretoken": token}, follow=True)


def test_erasing_an_unconfirmed_sign_up_removes_a_suppression() -> None:
    SuppressionFactory(address_key=ADA)
    sign_up(ADA)
    press(asked(get_current()), "erase/")
    assert tables_that_hold(ADA) == []


def test_the_record_says_why_a_copy_was_not_sent(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    reader = SubscriberFactory(email=ADA)
    edition = newsroom.publish()
    edition_control.cancel(edition.pk)
    page = Client().get(asked(reader)).content.decode()
    assert "Not sent: it was withdrawn before sending. The letter was cancelled." in page
    assert "their copy" not in page


def test_readers_do_not_see_technical_reasons() -> None:
    stored = load_personal_data(SubscriberFactory().pk)
    assert stored is not None
    mail = {"title": "", "version": 1, "kind": "newsletter", "published_at": stored.since,
            "outcome": "failed", "reason": "Parked.", "reason_code": "parked"}  # fmt: skip
    details = [
        describe(replace(stored, mails=[mail]), to_reader=yes)["sections"][-1]["rows"][0]["details"]
        for yes in (False, True)
    ]
    assert details == [["Not sent: it failed. Parked."], ["Not sent: it failed."]]


def test_erasing_needs_a_post_with_the_csrf_token() -> None:
    reader = SubscriberFactory(email=ADA)
    link = asked(reader)

    for method in ("get", "head"):
        assert getattr(Client(), method)(f"{link}erase/").status_code == 200
    assert Client().get(f"{link}leave/").status_code == 405
    for what in ("leave/", "erase/"):
        assert Client(enforce_csrf_checks=True).post(link + what).status_code == 403

    assert state_of(reader) == "confirmed"


def test_after_erasure_the_links_show_that_data_is_erased() -> None:
    reader = SubscriberFactory(email=ADA)
    link = asked(reader)

    page = press(link, "erase/")

    assert "Your data is erased" in page.content.decode()
    assert tables_that_hold(ADA) == []
    for address in (link, f"{link}record.json", f"{link}erase/"):
        again = Client().get(address)
        assert again.status_code == 410
        assert "Your data is erased" in again.content.decode()
