"""Events of Anymail's services: read, stored once, applied, and never a fault."""

import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from copy import copy as copy_of
from typing import Any
from uuid import UUID

import anymail.webhooks.amazon_ses
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.test import Client, RequestFactory

from delivery.django_mail import anymail_events
from delivery.feedback import event_inbox, webhook_view
from delivery.models import ProviderEvent
from delivery.provider.events import AddressSuppressed, Bounced, Delivered, WebhookEvent
from delivery.provider.provider_protocol import WebhookRefusedError
from delivery.rules import delivery_key
from subscribers.models import Subscriber
from tests.delivery.django_mail.anymail_payloads import (
    AT,
    EVENTS,
    PATH,
    SETTINGS,
    AnymailPigeons,
    Mail,
    request,
)
from tests.delivery.edition_factory import Newsroom, copies_of
from tests.delivery.provider.pigeon_post import Loft
from tests.delivery.webhook_events import key_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:django-anymail has dropped official support for SendGrid"),
]


class Config(dict[str, Any]):
    """The part of boto3's configuration that Homing uses."""

    def merge(self, other: dict[str, Any]) -> "Config":
        return Config(self | other)


class Amazon:
    """Amazon SNS, as boto3 calls it."""

    def __init__(self) -> None:
        self.confirmed: list[Any] = []
        self.fails = False

    def client(self, name: str, **params: Any) -> "Amazon":
        self.confirmed.append(params)
        return self

    def confirm_subscription(self, **params: Any) -> None:
        if self.fails:
            raise ConnectionError("ann@example.net")
        self.confirmed.append(params)

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def amazon(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Amazon:
    """Take the place of boto3, which the tests do not install."""
    settings.ANYMAIL = dict(SETTINGS)
    view, amazon = anymail.webhooks.amazon_ses, Amazon()
    session = type("Session", (), {"Session": lambda **_: amazon})
    monkeypatch.setattr(view, "boto3", type("Boto", (), {"session": session}))
    params = {"config": Config(user_agent_extra="x")}
    monkeypatch.setattr(view, "_get_anymail_boto3_params", lambda **_: ({}, params))
    return amazon


def split(service: str, body: bytes, headers: dict[str, str]) -> list[tuple[bytes, str | None]]:
    others = {name: value for name, value in headers.items() if name != "Content-Type"}
    asked = RequestFactory().generic(
        "POST", PATH, body, content_type=headers["Content-Type"], secure=True, headers=others
    )
    return list(anymail_events.split(service, asked.META, body))


def read(service: str, what: str, mail: Mail | None = None) -> WebhookEvent:
    event = EVENTS[service](what, mail or Mail())
    ((body, _),) = split(service, *request(service, event))
    return anymail_events.parse(body)


# The kind of bounce of each event. A star is a refusal by the service's own list.
HARD, SOFT, SPAM, LEFT = "HardBounce", "SoftBounce", "SpamComplaint", "Unsubscribe"
USUAL = {"hard": HARD, "soft": SOFT, "complained": SPAM, "unsubscribed": LEFT}
BOUNCES = {
    service: {name: USUAL[name] for name in names.split()}
    for service, names in {
        "amazon_ses": "hard soft complained",
        "brevo": "hard soft complained unsubscribed",
        "mailersend": "hard soft complained unsubscribed",
        "mailgun": "hard soft complained unsubscribed",
        "mailjet": "hard soft complained unsubscribed",
        "mailtrap": "hard complained unsubscribed",
        "mandrill": "hard soft complained unsubscribed",
        "postal": "hard soft",
        "resend": "hard soft complained",
        "sendgrid": "hard soft complained unsubscribed",
        "sparkpost": "hard soft complained unsubscribed",
        "unisender_go": "hard soft complained unsubscribed",
    }.items()
}
BOUNCES["amazon_ses"] |= {"rejected": "Blocked", "no complaint": ""}
BOUNCES["brevo"] |= {"invalid": HARD, "rejected": "Blocked", "deferred": ""}
BOUNCES["mailgun"] |= {"by code": HARD, "deferred": "", "listed": f"*{SPAM}", "left": LEFT}
BOUNCES["mailjet"] |= {"rejected": "Blocked", "listed": f"*{SPAM}"}
BOUNCES["mailtrap"] |= {"rejected": "Blocked", "deferred": ""}
BOUNCES["mandrill"] |= {"rejected": "Blocked", "listed": f"*{HARD}", "sent": ""}
BOUNCES["resend"] |= {"old": HARD, "deferred": "", "opened": ""}
BOUNCES["sendgrid"] |= {"rejected": "Blocked", "listed": f"*{HARD}", "left": LEFT}
BOUNCES["sparkpost"] |= {"rejected": "Blocked"}


@pytest.mark.parametrize(
    ("service", "what", "kind"),
    [(service, what, kind) for service, all_ in BOUNCES.items() for what, kind in all_.items()],
)
def test_each_bounce_has_its_kind(service: str, what: str, kind: str) -> None:
    found = read(service, what).address_event
    match found:
        case Bounced():
            assert (found.kind, found.address, found.at) == (kind, "Ann@example.net", AT)
            assert "example.net" not in found.description
        case AddressSuppressed():
            assert f"*{found.reason}" == kind
        case _:
            assert (found, kind) == (None, "")


@pytest.mark.parametrize("service", [name for name in EVENTS if name != "mandrill"])
def test_an_arrival_names_its_copy_or_its_issue(service: str) -> None:
    mail = Mail("<1.2@example.org>") if service == "mailgun" else Mail()
    found = read(service, "delivered", mail)
    of_services = {
        "brevo": f"{mail.delivery}@{mail.attempt}",
        "mailjet": "19421777835146490",
        "postal": "12345",
    }
    message_id = of_services.get(service, mail.message_id)
    assert isinstance(found.address_event, Delivered)
    assert (found.address_event.at, found.address_event.message_id) == (AT, message_id)
    assert (found.kind, found.address_key) == ("delivered", "ann@example.net")
    if service in {"mailersend", "postal"}:
        assert (found.accepted, found.issue) == (None, UUID(int=1))
        return
    assert found.accepted is not None
    assert found.accepted.delivery == delivery_key.read(mail.delivery)
    assert (found.accepted.message_id, found.accepted.by) == (message_id, AT)
    assert found.accepted.attempt == UUID(hex=mail.attempt)


def test_a_rejected_mail_is_no_proof_of_acceptance() -> None:
    for service, kinds in BOUNCES.items():
        if "rejected" in kinds:
            assert read(service, "rejected").accepted is None
    assert read("resend", "opened").accepted is not None


HOSTILE = (None, True, -1, 1e308, "", "nul\0 \ud800", "x" * 100_000, [], [[]], {}, {"a": {}})


@pytest.mark.parametrize("service", EVENTS)
def test_wrong_types_and_hostile_values_raise_nothing(service: str) -> None:
    for what in BOUNCES[service]:
        for changed in _variants(EVENTS[service](what, Mail())):
            found: list[tuple[bytes, str | None]] = []
            with suppress(WebhookRefusedError):
                found = split(service, *request(service, changed))
            for body, trace in found:
                assert len(body) < 30_000
                assert len(trace or "") <= 100
                assert len(anymail_events.parse(body).kind) <= 40


def _variants(value: Any) -> Iterator[Any]:
    """Yield the value with a hostile value in place of each of its parts."""
    parts: Any = enumerate(value) if isinstance(value, list) else ()
    for name, part in value.items() if isinstance(value, dict) else parts:
        for one in (*HOSTILE, *_variants(part)):
            changed = copy_of(value)
            changed[name] = one
            yield changed


@pytest.mark.parametrize("body", [b"", b"\xff\x00", b"[" * 100_000, b"[]", b"null", b"1", b'"a"'])
def test_unreadable_bodies_are_stored_or_refused(body: bytes, caplog: Any) -> None:
    for service in EVENTS:
        headers = request(service, EVENTS[service]("hard", Mail()))[1]
        found: list[tuple[bytes, str | None]] = []
        with suppress(WebhookRefusedError):
            found = split(service, body, headers)
        for stored, trace in found:
            assert (anymail_events.parse(stored), trace) == (WebhookEvent("", None), None)
    assert "example.net" not in caplog.text
    for other in (body, b'{"service": {}}', b'{"service": "brevo", "type": "bounced"}'):
        assert anymail_events.parse(other).address_event is None


def test_long_unreadable_bodies_are_cut_but_stay_different() -> None:
    headers = request("brevo", EVENTS["brevo"]("hard", Mail()))[1]
    one, other = (split("brevo", b"x" * length, headers)[0][0] for length in (30_000, 30_001))
    assert one != other
    assert len(one) < 25_000


@pytest.mark.parametrize(
    "service", ["mailjet", "mailtrap", "mandrill", "sendgrid", "sparkpost", "unisender_go"]
)
def test_one_unreadable_event_hides_no_other(service: str, caplog: Any) -> None:
    good = EVENTS[service]("hard", Mail())
    broken = {"sparkpost": {"msys": 1}, "unisender_go": good | {"event_data": 1}}.get(service, 7)
    found = split(service, *request(service, broken, good))
    kinds = [anymail_events.parse(body).kind for body, _ in found]
    assert kinds == ["", "bounced"]
    assert f"an event of {service} is stored without effect" in caplog.text


def test_one_message_of_amazon_may_have_several_events() -> None:
    event = EVENTS["amazon_ses"]("hard", Mail())
    event["bounce"]["bouncedRecipients"].append({"emailAddress": "bob@example.net"})
    found = split("amazon_ses", *request("amazon_ses", event))
    assert [trace for _, trace in found] == ["amazon_ses sns-1", "amazon_ses sns-1 2"]


def test_wrong_signatures_are_refused_by_one_sentence() -> None:
    for service in ("mailersend", "mailgun", "mandrill", "postal", "unisender_go"):
        body, headers = request(service, EVENTS[service]("hard", Mail()))
        body, headers = body.replace(b"token 1", b"token 2"), dict(headers)
        headers["Signature"] = headers["X-Mandrill-Signature"] = headers["X-Postal-Signature"] = ""
        body = body.replace(b'"auth": "', b'"auth": "0')
        with pytest.raises(WebhookRefusedError) as caught:
            split(service, body, headers)
        assert caught.value.status == 400
        assert "keeper" not in caught.value.detail


def test_an_event_without_a_valid_signature_has_no_effect(settings: Any) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    name = "SENDGRID_TRACKING_WEBHOOK_VERIFICATION_KEY"
    settings.ANYMAIL = {name: base64.b64encode(public).decode()}
    body, headers = request("sendgrid", *(EVENTS["sendgrid"]("hard", Mail()),) * 2)
    signed = base64.b64encode(key.sign(b"1" + body, ec.ECDSA(hashes.SHA256()))).decode()
    kinds = {}
    for signature in (signed, "", "AAAA", "é"):
        headers["X-Twilio-Email-Event-Webhook-Signature"] = signature
        headers["X-Twilio-Email-Event-Webhook-Timestamp"] = "1"
        try:
            found = split("sendgrid", body, headers)
        except WebhookRefusedError:
            continue
        kinds[signature] = [anymail_events.parse(stored).kind for stored, _ in found]
    # Anymail fails at the last signature, so its request is stored as one without effect.
    assert kinds == {signed: ["bounced"] * 2, "é": [""]}


@pytest.mark.parametrize(
    ("service", "settings_of_anymail", "named"),
    [
        ("mailgun", {}, "MAILGUN_WEBHOOK_SIGNING_KEY"),
        ("unisender_go", {}, "UNISENDER_GO_API_KEY"),
        ("postal", {"POSTAL_WEBHOOK_KEY": "no key"}, "a key of webhooks"),
        ("sendgrid", {"SENDGRID_TRACKING_WEBHOOK_VERIFICATION_KEY": "x"}, "a key of webhooks"),
    ],
)
def test_a_missing_setting_is_named_and_answered_503(
    service: str, settings_of_anymail: dict[str, str], named: str, settings: Any
) -> None:
    settings.ANYMAIL = settings_of_anymail
    with pytest.raises(WebhookRefusedError) as caught:
        split(service, *request(service, EVENTS[service]("hard", Mail())))
    assert (caught.value.status, named in caught.value.detail) == (503, True)


def test_an_inbound_webhook_is_answered_503() -> None:
    for service, event in {
        "brevo": {"items": []},
        "sparkpost": {"msys": {"relay_message": {}}},
    }.items():
        with pytest.raises(WebhookRefusedError, match=r"not configured") as caught:
            split(service, *request(service, event))
        assert "inbound" in caught.value.detail
    with pytest.raises(WebhookRefusedError, match=r"no events"):
        split("scaleway", b"{}", {"Content-Type": "application/json"})


def test_a_subscription_of_amazon_is_confirmed_within_seconds(amazon: Amazon, caplog: Any) -> None:
    def ask(kind: str) -> list[tuple[bytes, str | None]]:
        return split("amazon_ses", *request("amazon_ses", {"sns": {"Type": kind, "Token": "t"}}))

    assert ask("SubscriptionConfirmation") == []
    client, confirmed = amazon.confirmed
    assert (client["config"]["connect_timeout"], client["region_name"]) == (4, "eu-west-1")
    assert confirmed["Token"] == "t"
    amazon.fails = True
    with pytest.raises(WebhookRefusedError, match=r"could not be confirmed") as caught:
        ask("SubscriptionConfirmation")
    assert "sns:ConfirmSubscription" in caught.value.detail
    assert (caught.value.status, "example" in caught.value.detail) == (503, False)
    assert ask("UnsubscribeConfirmation") == []
    assert "subscribe this webhook" in caplog.text


@pytest.fixture
def newsroom(settings: Any, transactional_db: None) -> Iterator[Newsroom]:
    settings.MAIL_PROVIDER = f"{AnymailPigeons.__module__}.AnymailPigeons"
    Loft.clear()
    yield Newsroom()
    Loft.clear()


def post(service: str, event: dict[str, Any], number: int = 1) -> int:
    body, headers = request(service, event, number=number)
    kind = headers.pop("Content-Type")
    answer = Client().post(PATH, body, kind, secure=True, headers=headers)
    return answer.status_code


@pytest.mark.parametrize("service", ["brevo", "mailersend", "mailgun", "mandrill", "sendgrid"])
def test_events_through_the_front_door_count_once(
    newsroom: Newsroom, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    monkeypatch.setattr(AnymailPigeons, "service", service)
    edition = newsroom.publish(readers=4)
    if service == "mailgun":
        # Mailgun's ids have angle brackets.
        monkeypatch.setattr(Loft, "loses_replies", True)
    newsroom.deliver_all()
    copies = copies_of(edition)
    for copy, what in zip(copies, ("soft", "hard", "complained", "unsubscribed"), strict=True):
        message_id = copy.provider_message_id or f"<{copy.recipient_id}@example.org>"
        (attempt,) = {row.pk for row in newsroom.attempts(edition)}
        mail = Mail(message_id, copy.address, key_of(edition, copy.recipient_id), attempt.hex)
        assert [post(service, EVENTS[service](what, mail), n) for n in (1, 2)] == [200, 200]
    assert ProviderEvent.objects.filter(failures=0, applied_at__isnull=False).count() == 4
    soft, hard, complained, left = copies_of(edition)
    assert (soft.bounced_at, hard.bounced_at, complained.complained_at) == (AT, AT, AT)
    assert left.bounced_at is None
    assert newsroom.outcomes(edition) == ["sent"] * 4
    states = dict(Subscriber.objects.values_list("email", "state"))
    assert [states[copy.address] for copy in copies] == [
        *("confirmed", "bounced", "complained", "unsubscribed")
    ]


def test_workers_apply_the_rest_of_a_large_request(
    newsroom: Newsroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AnymailPigeons, "service", "sendgrid")
    monkeypatch.setattr(webhook_view, "APPLY_S", 0.0)
    event = EVENTS["sendgrid"]("hard", Mail())
    assert post("sendgrid", event) == 200
    assert ProviderEvent.objects.get().applied_at is None
    assert event_inbox.apply_pending() == 1


def test_refusals_are_answered_and_logged(
    newsroom: Newsroom, caplog: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AnymailPigeons, "service", "mailgun")
    assert post("mailgun", {"event-data": 1}) == 200
    body, headers = request("mailgun", EVENTS["mailgun"]("hard", Mail()))
    kind = headers.pop("Content-Type")
    wrong = body.replace(b"token 1", b"token 2")
    assert Client().post(PATH, wrong, kind, secure=True, headers=headers).status_code == 400
    settings.ANYMAIL = {}
    assert post("mailgun", json.loads(body)) == 503
    assert "a webhook was refused: Mailgun webhook called with incorrect signature" in caplog.text
    assert "MAILGUN_WEBHOOK_SIGNING_KEY" in caplog.text
    assert [one.kind for one in ProviderEvent.objects.all()] == [""]
    for ask in (Client().head, Client().get):
        found = [ask(path, secure=True).status_code for path in (PATH, "/webhooks/x/")]
        assert found == [200, 404]
