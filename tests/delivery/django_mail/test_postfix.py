"""Editions through Debian's Postfix, as far as a reader's mailbox."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import orjson
import pytest

from delivery.django_mail.django_mail_provider import DjangoMail
from delivery.provider.deadline_clock import now_s
from delivery.rules.call_results import AllAccepted, Answered, NotTried
from delivery.rules.outcomes import Failed, Sent
from delivery.rules.reason import Remedy
from subscribers.models import Subscriber
from tests.delivery.django_mail.postfix_instance import PostfixInstance, parsed, postfix
from tests.delivery.django_mail.smtp_calls import message
from tests.delivery.edition_factory import Newsroom, copies_of

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]

SERVICES = {
    "usual": "-o { smtpd_recipient_restrictions = check_recipient_access inline:{ "
    "{ reader9@example.net = 450 4.2.0 Greylisted } } }",
    # Loopback addresses are exempt from limits of clients, unless the exemption is empty.
    "limited": "-o smtpd_client_message_rate_limit=2 -o smtpd_client_event_limit_exceptions=",
    "strict": "-o smtpd_hard_error_limit=2 -o smtpd_error_sleep_time=0",
    # The default of Debian's package for a client that may not relay.
    "stranger": "-o mynetworks=192.0.2.1 -o smtpd_relay_restrictions=defer_unauth_destination",
}
LONG_LINE = "A long line of Möwen. " * 60


@pytest.fixture(scope="module")
def instance() -> Iterator[PostfixInstance]:
    with postfix(SERVICES) as running:
        yield running


@pytest.fixture
def through(instance: PostfixInstance, settings: Any) -> Callable[[str], Newsroom]:
    """Return a function that sends through one of the services."""

    def choose(service: str) -> Newsroom:
        settings.MAIL_PROVIDER, settings.DELIVERY_UNKNOWN_POLICY = "django", "hold"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", instance.ports[service]
        settings.DELIVERY_BATCH_SIZE = 20
        return Newsroom()

    return choose


def test_an_edition_arrives_with_its_headers(
    through: Callable[[str], Newsroom], instance: PostfixInstance
) -> None:
    newsroom = through("usual")
    edition = newsroom.publish(3, title="Schwälbe & Möwen 🐦", html=f"<p>{LONG_LINE}</p>\n.\n..dot")
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"] * 3

    arrived = instance.arrived(3)
    proofs = {copy.provider_message_id for copy in copies_of(edition)}
    assert {parsed(mail)["X-Homing-Copy"] for mail in arrived} == proofs
    for mail in arrived:
        assert max(len(line) for line in mail.split(b"\n")) <= 998
        read = parsed(mail)
        assert read["Subject"] == "Schwälbe & Möwen 🐦"
        assert all(len(read.get_all(name, [])) == 1 for name in ("Message-ID", "List-Id", "Date"))
        assert read["List-Unsubscribe"].startswith("<https://letter.example.org/")
        assert read["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        assert LONG_LINE.strip() in read.get_content()
        assert "\n.\n..dot\n" in read.get_content()


def test_both_parts_arrive_as_they_were_written(
    through: Callable[[str], Newsroom], instance: PostfixInstance
) -> None:
    through("usual")
    text = f".\n.. dots\nFrom here\n{LONG_LINE}\nend of line \n"
    with closing(DjangoMail()) as provider:
        assert isinstance(call(provider, message(0, text=text, html=text)), AllAccepted)
    read = parsed(*instance.arrived(1))
    for kind in ("plain", "html"):
        part = read.get_body((kind,))
        assert part is not None
        assert part.get_content().rstrip("\n") == text.rstrip("\n")


def test_an_unknown_recipient_fails_and_bounces(
    through: Callable[[str], Newsroom], instance: PostfixInstance
) -> None:
    newsroom = through("usual")
    newsroom.confirm(3, addresses={1: "gone@example.net"})
    edition = newsroom.publish()
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "failed", "sent"]
    assert Subscriber.objects.get(email="gone@example.net").state == Subscriber.State.BOUNCED
    assert Subscriber.objects.filter(state=Subscriber.State.CONFIRMED).count() == 2
    instance.arrived(2)


def test_an_issue_over_the_size_limit_stops(through: Callable[[str], Newsroom]) -> None:
    newsroom = through("usual")
    edition = newsroom.publish(2, html=f"<p>{LONG_LINE * 20}</p>")
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["waiting"] * 2
    edition.refresh_from_db()
    assert edition.control == "stopped"
    assert newsroom.batch(edition).reason.params["remedy"] == Remedy.SHORTEN_ISSUE


def test_a_greylisted_copy_is_tried_later(
    through: Callable[[str], Newsroom], instance: PostfixInstance
) -> None:
    newsroom = through("usual")
    newsroom.confirm(2, addresses={0: "reader9@example.net"})
    edition = newsroom.publish()
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["waiting", "sent"]
    assert newsroom.batch(edition).tries == 1
    instance.arrived(1)


def test_a_limit_of_messages_uses_up_no_try(
    through: Callable[[str], Newsroom], instance: PostfixInstance
) -> None:
    newsroom = through("limited")
    edition = newsroom.publish(4)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "sent", "waiting", "waiting"]
    assert newsroom.batch(edition).tries == 0
    instance.arrived(2)


def test_a_client_that_may_not_relay_stops(through: Callable[[str], Newsroom]) -> None:
    newsroom = through("stranger")
    newsroom.confirm(2, addresses={0: "reader@elsewhere.example", 1: "other@elsewhere.example"})
    edition = newsroom.publish()
    newsroom.deliver_all()
    edition.refresh_from_db()
    assert edition.control == "stopped"
    assert newsroom.outcomes(edition) == ["waiting"] * 2


def test_a_server_that_ends_after_errors_loses_nothing(
    through: Callable[[str], Newsroom], instance: PostfixInstance
) -> None:
    through("strict")
    gone = [message(n, to=f"gone{n}@example.net") for n in range(2)]
    with closing(DjangoMail()) as provider:
        assert kinds(call(provider, message(0), *gone)) == [Sent, Failed, Failed]
        # Postfix has closed the connection. The next call opens another one.
        assert kinds(call(provider, message(1), *gone, message(2))) == [
            Sent,
            Failed,
            Failed,
            NotTried,
        ]
        assert kinds(call(provider, message(2))) == [Sent]
    instance.arrived(3)


def call(provider: DjangoMail, *messages: dict[str, Any]) -> Any:
    addresses = [one["to"] for one in messages]
    return provider.send(orjson.dumps(messages), addresses, deadline_at_s=now_s() + 30)


def kinds(result: AllAccepted | Answered) -> list[type]:
    return [type(one) for one in result.messages]
