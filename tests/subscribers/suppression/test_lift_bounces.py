"""A bounce is lifted by a later reactivation, or by an author with a reason."""

import itertools
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db import connection

from delivery.feedback.send_suppression_changes import push_suppression_changes
from delivery.models import ProviderSuppression, SuppressionChange
from publishing.activity.activity_sentences import plain_sentence_of
from subscribers.data_requests.erase import erase
from subscribers.models import ConsentRecord, Subscriber, Suppression
from subscribers.suppression.lift_bounces import can_lift_bounce, lift_bounce
from subscribers.suppression.manual_suppression import block, unblock
from tests.delivery.conftest import newsroom, provider
from tests.delivery.edition_factory import Newsroom, never
from tests.delivery.webhook_events import PASSWORD, USER, post
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import WindowOf
from tests.subscribers.factories import SubscriberFactory, SuppressionFactory
from tests.subscribers.search_all_tables import tables_that_hold

__all__ = ["newsroom", "provider"]

pytestmark = pytest.mark.django_db

ADA = "ada@posthouse.example.org"
READERS = "/admin/newsletters/readers/"
WHY = "Their provider refused all mail for a day."
Event = dict[str, Any]


@pytest.fixture(autouse=True)
def _webhooks(settings: Any) -> None:
    settings.POSTMARK_WEBHOOK_USER, settings.POSTMARK_WEBHOOK_PASSWORD = USER, PASSWORD


@pytest.fixture
def ada() -> Subscriber:
    """Make a confirmed reader."""
    return SubscriberFactory(email=ADA)


def changed(day: int, reason: str | None, origin: str = "Recipient", **more: Any) -> Event:
    """Make an event about the provider's list; without a reason, a reactivation."""
    return {
        "RecordType": "SubscriptionChange",
        "MessageStream": "broadcast",
        "Recipient": ADA,
        "Origin": origin,
        "SuppressSending": reason is not None,
        "SuppressionReason": reason,
        "ChangedAt": f"2026-03-{day:02}T00:00:00Z",
        **more,
    }


def bounced(day: int) -> Event:
    times = {"BouncedAt": f"2026-03-{day:02}T00:00:00Z"}
    bounce = {"RecordType": "Bounce", "Type": "HardBounce", "ID": day, "Inactive": True}
    return {**bounce, "MessageStream": "broadcast", "Email": ADA, **times}


def report(*events: Event) -> None:
    for event in events:
        assert post(event) == 200


def is_mailed(reader: Subscriber) -> bool:
    reader.refresh_from_db()
    return (
        reader.state == "confirmed"
        and not Suppression.objects.filter(address_key=reader.email_key, lifted_at=None).exists()
    )


def acts(reader: Subscriber) -> list[tuple[str, str]]:
    records = ConsentRecord.objects.filter(subscriber=reader).order_by("id")
    return list(records.values_list("act", "how"))


@pytest.mark.parametrize(
    "refusal", [("HardBounce", "Recipient"), ("ManualSuppression", "Customer")], ids="-".join
)
def test_a_suppression_that_the_provider_lifts_is_lifted(
    ada: Subscriber, refusal: tuple[str, str]
) -> None:
    report(changed(1, *refusal))
    assert not is_mailed(ada)
    report(changed(2, None, "Customer"))
    assert is_mailed(ada)
    assert acts(ada)[-1] == ("lifted", "provider")
    report(changed(3, *refusal))
    assert not is_mailed(ada)
    assert len(acts(ada)) == 3


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
@pytest.mark.parametrize("last_day", [1, 3], ids=["lifted", "bounced-again"])
def test_the_latest_report_of_the_provider_counts_in_any_order(
    ada: Subscriber, order: tuple[int, ...], last_day: int
) -> None:
    events = [bounced(1), changed(1, "HardBounce"), changed(2, None, "Customer"), bounced(last_day)]
    report(*(events[place] for place in order))
    assert is_mailed(ada) is (last_day == 1)


@pytest.mark.parametrize(
    ("refusal", "state"),
    [
        (("SpamComplaint", "Recipient"), "complained"),
        (("ManualSuppression", "Recipient"), "unsubscribed"),
    ],
)
def test_a_complaint_or_unsubscribe_is_lifted_by_nobody(
    ada: Subscriber, refusal: tuple[str, str], state: str
) -> None:
    report(changed(1, "HardBounce"), changed(2, *refusal), changed(3, None))
    assert not lift_bounce(ada.pk, WHY)
    ada.refresh_from_db()
    assert (ada.state, Suppression.objects.get().lifted_at) == (state, None)
    # After a bounce was lifted, every newly reported event counts, whatever its time is.
    other = SubscriberFactory(email="b@posthouse.example.org")
    about = {"Recipient": other.email}
    report(*(changed(day, why, **about) for day, why in ((1, "HardBounce"), (3, None))))
    assert is_mailed(other)
    report(changed(2, *refusal, **about))
    other.refresh_from_db()
    assert (other.state, Suppression.objects.filter(lifted_at=None).count()) == (state, 2)


def test_an_address_that_another_stream_refuses_stays_suppressed(ada: Subscriber) -> None:
    report(changed(1, "HardBounce"), changed(1, "HardBounce", MessageStream="outbound"))
    report(changed(2, None, "Customer"))
    assert not is_mailed(ada)
    report(changed(3, None, "Customer", MessageStream="elsewhere"))
    assert not is_mailed(ada)
    report(changed(4, None, "Customer", MessageStream="outbound"))
    assert is_mailed(ada)


def test_the_provider_lifts_no_block_and_no_imported_suppression(ada: Subscriber) -> None:
    assert block(ada.pk)
    SuppressionFactory(address_key="b@posthouse.example.org", origin="import")
    report(changed(28, None), changed(28, None, Recipient="b@posthouse.example.org"))
    assert Suppression.objects.filter(lifted_at=None).count() == 2


def test_an_address_without_a_reader_is_lifted_too() -> None:
    report(changed(1, "HardBounce"), changed(2, None, "Customer"), bounced(1))
    assert Suppression.objects.get().lifted_how == "provider"


def test_a_reactivation_stores_nothing_about_an_erased_reader(ada: Subscriber) -> None:
    report(changed(1, "HardBounce"))
    assert erase(ada.pk)
    report(changed(2, None, "Customer"))
    assert tables_that_hold(ADA) == []


def test_a_lifted_bounce_makes_nobody_confirmed(ada: Subscriber) -> None:
    pending = SubscriberFactory(email="new@posthouse.example.org", state="pending")
    about = {"Recipient": pending.email}
    report(changed(1, "HardBounce", **about), changed(2, None, **about))
    pending.refresh_from_db()
    assert (pending.state, pending.gone_at) == ("pending", None)


def test_a_reader_whose_bounce_is_lifted_is_not_new(ada: Subscriber) -> None:
    def new_readers() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT sum(readers) FROM new_readers")
            return int(cursor.fetchone()[0])

    before = new_readers()
    report(changed(1, "HardBounce"), changed(2, None))
    assert is_mailed(ada)
    assert new_readers() == before


@pytest.mark.django_db(transaction=True)
def test_a_reader_gets_letters_after_an_author_lifted_a_bounce(
    newsroom: Newsroom, window: WindowOf
) -> None:
    (ada,) = newsroom.confirm(1, addresses={0: ADA})
    for stream in ("broadcast", "outbound"):
        newsroom.sandbox.events.suppress(stream, ADA, "HardBounce", "Recipient")
    report(changed(1, "HardBounce"))
    action = f"{READERS}{ada.pk}/lift-bounce/"
    assert "Lift the bounce…" in window.get(f"{READERS}{ada.pk}/").words

    refused = window.post(action, reason="  ")
    assert (refused.status, is_mailed(ada)) == (422, False)
    assert "Homing records it" in refused.words
    assert window.post(action, reason=f" {WHY}\n").status == 303
    assert is_mailed(ada)
    assert "Lift the bounce…" not in window.get(f"{READERS}{ada.pk}/").words
    record = ConsentRecord.objects.latest("id")
    assert (record.act, record.how, record.detail) == ("lifted", "operator", WHY)
    entry = plain_sentence_of(LogEntry.objects.get())
    assert entry.endswith(f"lifted the bounce of subscriber {ada.pk}. Reason: {WHY}")

    push_suppression_changes(never)
    assert set(SuppressionChange.objects.values_list("stream", "state")) == {
        ("broadcast", "done"),
        ("outbound", "done"),
    }
    # No webhook reports the provider's answer.
    assert "Not mailed" not in window.get(READERS).words
    edition = newsroom.publish()
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"]


def test_a_report_after_the_request_outlasts_the_accepted_lifting(newsroom: Newsroom) -> None:
    (ada,) = newsroom.confirm(1, addresses={0: ADA})
    report(changed(1, "HardBounce"))
    assert lift_bounce(ada.pk, WHY)
    report(changed(1, "HardBounce", ChangedAt="2999-01-01T00:00:00Z"))
    push_suppression_changes(never)
    assert set(SuppressionChange.objects.values_list("state", flat=True)) == {"done"}
    assert ProviderSuppression.objects.get().refuses


def test_only_later_bounces_count_after_an_author_lifted_one(ada: Subscriber) -> None:
    report(changed(1, "HardBounce"))
    assert lift_bounce(ada.pk, WHY)
    report(bounced(2))
    assert is_mailed(ada)
    later = {"BouncedAt": "2999-01-01T00:00:00Z", "ID": 99}
    report({**bounced(1), **later})
    ada.refresh_from_db()
    assert ada.state == "bounced"
    assert [act for act, _ in acts(ada)] == ["bounced", "lifted", "bounced"]


def test_soft_bounces_are_counted_anew_after_a_lifting(newsroom: Newsroom) -> None:
    (ada,) = newsroom.confirm(1, addresses={0: ADA})
    report(changed(20, "HardBounce"))
    assert lift_bounce(ada.pk, WHY)
    for number in range(5):
        newsroom.publish()
        newsroom.deliver_all()
        key = newsroom.sandbox.outbox.message(number).metadata["delivery"]
        soft = {**bounced(10 + number), "Type": "SoftBounce", "Inactive": False}
        report({**soft, "Metadata": {"delivery": key}})
    assert is_mailed(ada)


@pytest.mark.parametrize(
    "held",
    [
        {"reason": "complaint"},
        {"reason": "unsubscribe"},
        {"reason": "manual"},
        {"reason": "bounce", "origin": "operator"},
        {"reason": "unsubscribe", "origin": "import"},
    ],
    ids=str,
)
def test_an_author_lifts_nothing_but_a_bounce(ada: Subscriber, held: dict[str, str]) -> None:
    SuppressionFactory(address_key=ADA, **held)
    Subscriber.objects.update(state="bounced")
    ada.refresh_from_db()
    assert not can_lift_bounce(ada)
    assert not lift_bounce(ada.pk, WHY)
    assert not ConsentRecord.objects.exists()


@pytest.mark.parametrize(
    "refusal", [("SpamComplaint", "Recipient"), ("ManualSuppression", "Recipient")], ids="-".join
)
def test_no_bounce_is_lifted_beside_a_complaint_at_the_provider(
    ada: Subscriber, refusal: tuple[str, str]
) -> None:
    SuppressionFactory(address_key=ADA)
    reason, origin = refusal
    word = {"address_key": ADA, "stream": "outbound", "refuses": True, "at": "2026-03-01T00:00:00Z"}
    ProviderSuppression.objects.create(reason=reason, origin=origin, **word)
    assert not lift_bounce(ada.pk, WHY)


@pytest.mark.parametrize("origin", ["provider", "import"])
def test_an_author_lifts_a_reported_or_imported_bounce(ada: Subscriber, origin: str) -> None:
    SuppressionFactory(address_key=ADA, origin=origin)
    Subscriber.objects.update(state="bounced")
    assert lift_bounce(ada.pk, WHY)
    assert is_mailed(ada)
    assert not lift_bounce(ada.pk, WHY)


def test_unblocking_restores_no_bounce_that_was_lifted_before(ada: Subscriber) -> None:
    report(changed(1, "HardBounce"))
    assert lift_bounce(ada.pk, WHY)
    assert block(ada.pk)
    assert unblock(ada.pk)
    assert is_mailed(ada)


def test_the_bounces_of_many_readers_are_lifted_with_one_reason(author: Any) -> None:
    window = WindowOf(author)
    readers = SubscriberFactory.create_batch(2, state="bounced")
    gone = SubscriberFactory(state="complained")
    page = window.get(f"{READERS}change/?do=lift-bounce&scope=found")
    assert "Lift the bounces of 3 readers?" in page.words
    form = page.form_with("key")
    refused = window.post(form.action, **{**form.fields, "reason": ""})
    assert (refused.status, Subscriber.objects.filter(state="bounced").count()) == (422, 2)
    assert window.post(form.action, **{**form.fields, "reason": WHY}).status == 303
    for reader in readers:
        assert is_mailed(reader)
    gone.refresh_from_db()
    assert gone.state == "complained"
    details = ConsentRecord.objects.filter(act="lifted").values_list("detail", flat=True)
    assert list(details) == [WHY, WHY]
    sentence = plain_sentence_of(LogEntry.objects.get())
    assert sentence.endswith(f"lifted the bounces of 3 readers. Reason: {WHY}")


def test_programs_and_commands_lift_a_bounce_with_a_reason(author: Any) -> None:
    program = Program(author)
    first, second = SubscriberFactory.create_batch(2, state="bounced")
    address = f"/readers/{first.pk}/lift-bounce/"
    assert program.post(address, {"reason": " "}).status_code == 400
    assert program.post(address, {"reason": WHY}).json()["done"] is True
    assert is_mailed(first)

    command = ("readers", second.email, "--author", "edith", "--lift-bounce")
    with pytest.raises(CommandError, match="needs a reason"):
        call_command(*command, " ")
    call_command(*command, WHY)
    assert is_mailed(second)
    with pytest.raises(CommandError, match="no bounce to lift"):
        call_command(*command, WHY)
    assert LogEntry.objects.filter(change_message__contains=WHY).count() == 2


@pytest.mark.parametrize(
    ("held", "code", "words"),
    [
        ({"reason": "bounce"}, "bounce", "mail to it bounced"),
        ({"reason": "complaint"}, "complaint", "marked a letter as spam"),
        ({"reason": "unsubscribe"}, "unsubscribe", "on the mail provider’s page"),
        ({"reason": "manual"}, "manual_at_provider", "by hand at the mail provider"),
        ({"reason": "manual", "origin": "operator"}, "blocked", "an author or operator blocked it"),
        ({"reason": "bounce", "origin": "import"}, "imported_bounce", "an imported file says"),
        ({"reason": "manual", "origin": "import"}, "imported_manual", "newsletter service blocked"),
    ],
    ids=str,
)
def test_each_suppression_is_worded_by_its_origin(
    ada: Subscriber, author: Any, held: dict[str, str], code: str, words: str
) -> None:
    SuppressionFactory(address_key=ADA, **held)
    window = WindowOf(author)
    assert words in window.get(f"{READERS}{ada.pk}/").words
    row = window.get(READERS).words.partition("Not mailed: ")[2]
    assert words in row
    file = window.get(f"{READERS}readers.csv").answer.streaming_content
    assert f",{code},".encode() in b"".join(file)
    assert Program(author).get(f"/readers/{ada.pk}/").json()["suppressed"] == code


def test_a_refusal_that_only_the_provider_knows_is_shown(ada: Subscriber, author: Any) -> None:
    """For a pending reader, only a refusal on the transactional stream counts."""
    pending = SubscriberFactory(state="pending")
    for reader, stream in ((ada, "outbound"), (pending, "outbound")):
        word = {"address_key": reader.email, "stream": stream, "at": "2026-03-01T00:00:00Z"}
        ProviderSuppression.objects.create(
            refuses=True, reason="ManualSuppression", origin="Admin", **word
        )
    found = Program(author).get("/readers/").json()["readers"]  # type: ignore[attr-defined]
    assert [one["suppressed"] for one in found] == ["manual_at_provider", ""]
