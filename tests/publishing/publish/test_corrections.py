"""Versions are published once and in order: only the next number is accepted."""

import uuid

import pytest
from django.contrib.admin.models import LogEntry
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from delivery.models import Batch, DatabaseIdentity, Delivery, Edition, Evidence
from delivery.queue import edition_control
from delivery.queue.record_evidence import record_acceptances, settle_by_evidence
from delivery.queue.short_transaction import lock_edition
from delivery.reconcile import database_identity
from delivery.rules.call_results import NotSent, Unanswered
from delivery.rules.outcomes import Sent
from publishing.editions.edition_status import load_status
from publishing.editions.versions import (
    VersionRefusedError,
    audience_choices,
    overlap_warnings,
    plan_version,
)
from publishing.models import Issue
from publishing.publish.publish_edition import (
    KeyUsedForOtherContentError,
    PublishResult,
    has_content,
)
from subscribers.leaving.leave import leave
from subscribers.models import Subscriber
from tests.delivery.because import because
from tests.delivery.worker_steps import Call
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import cancelled, in_doubt, sent, written
from tests.publishing.publish_with import publish
from tests.publishing.second_connection import PATIENCE_S, at_once, beside
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

CORRECTED = letter("Swifts, corrected", "<p>Fourteen, not forty.</p>", "Fourteen, not forty.")


@pytest.fixture
def first(author, three_readers):
    """Publish version 1 to Ada, Bram and Cleo."""
    return publish(author.pk, "first", letter(), hold_s=0).edition


@pytest.fixture
def correct(author, first):
    """Publish another version of the issue of `first`, by default version 2."""

    def publish_it(version=2, key="second", content=CORRECTED, **whom):
        return publish(
            author.pk, key, content, hold_s=0, issue=first.issue_id, version=version, **whom
        )

    return publish_it


def waits(edition):
    """Leave every copy queued: change nothing."""


def called_back(edition):
    assert edition_control.call_back(edition.pk) == edition.audience


def readers_of(edition):
    """Return the names of the readers who have a delivery of this version."""
    return set(
        Delivery.objects.filter(issue=edition.issue_id, version=edition.version).values_list(
            "name", flat=True
        )
    )


def test_next_version_has_own_deliveries_in_the_same_issue(correct, first):
    sent(first)
    slug = written().get().slug

    second = correct()

    assert second.created
    assert (second.edition.issue_id, second.edition.version) == (first.issue_id, 2)
    # The issue keeps its address, and takes over the title of the newest version.
    issue = written().get()
    assert (issue.slug, issue.title) == (slug, "Swifts, corrected")
    assert second.edition.archive_url == first.archive_url
    assert readers_of(second.edition) == {"Ada", "Bram", "Cleo"}
    keys = Delivery.objects.values_list("issue", "version", "recipient")
    assert len(set(keys)) == 6
    assert Delivery.objects.filter(version=1, outcome="sent").count() == 3


def test_a_correction_goes_to_everyone_who_is_confirmed_now(correct, first):
    sent(first)
    SubscriberFactory(name="Dirk")
    leave(Subscriber.objects.get(name="Ada").pk)

    assert readers_of(correct().edition) == {"Bram", "Cleo", "Dirk"}


def test_correction_for_reached_readers_needs_a_sent_earlier_copy(correct, first):
    sent(first, "Ada", "Bram")
    in_doubt(first, "Cleo")
    SubscriberFactory(name="Dirk")

    edition = correct(goes_to="reached").edition

    assert readers_of(edition) == {"Ada", "Bram"}
    assert (edition.goes_to, edition.audience) == ("reached", 2)


def test_reached_reader_who_unsubscribed_gets_no_correction(correct, first):
    sent(first)
    leave(Subscriber.objects.get(name="Ada").pk)

    assert readers_of(correct(goes_to="reached").edition) == {"Bram", "Cleo"}


def test_only_copies_of_the_same_issue_count_as_reached(author, correct, first):
    sent(first, "Ada")
    sent(correct().edition, "Bram")
    sent(publish(author.pk, "other", letter("Other"), hold_s=0).edition, "Cleo")

    assert readers_of(correct(3, "third", goes_to="reached").edition) == {"Ada", "Bram"}


@pytest.mark.parametrize("key", ["second", "another", "first"])
def test_existing_version_sends_nothing_and_is_returned(author, correct, first, key):
    content = CORRECTED
    second = correct().edition
    if key == "first":
        content, second = letter(), first

    again = correct(second.version, key, content)

    assert (again.edition.pk, again.created) == (second.pk, False)
    assert Delivery.objects.count() == 6
    assert LogEntry.objects.count() == 2
    # Publishing version 2 again with other content changes nothing, and the result says so.
    other = letter("Third thoughts")
    assert correct(2, "third", other).edition.title == "Swifts, corrected"
    assert not has_content(Edition.objects.get(version=2), other)
    assert has_content(Edition.objects.get(version=2), CORRECTED)
    assert Edition.objects.count() == 2


@pytest.mark.parametrize("version", [0, -1, 3, 7, None])
def test_version_that_is_not_next_is_refused_with_reason(author, correct, version):
    with pytest.raises(VersionRefusedError, match="The next one is version 2"):
        correct(version)

    assert Edition.objects.count() == 1
    with pytest.raises(VersionRefusedError, match=str(uuid.UUID(int=7))):
        publish(author.pk, "k", letter(), hold_s=0, issue=uuid.UUID(int=7), version=1)


@pytest.mark.parametrize(
    ("version", "goes_to"), [(2, "everyone"), (1, "reached"), (1, "unreached")]
)
def test_a_new_issue_begins_with_version_1_to_everyone(author, three_readers, version, goes_to):
    with pytest.raises(
        VersionRefusedError, match="A new issue starts with version 1 and goes to everyone"
    ):
        publish(author.pk, "k", letter(), hold_s=0, version=version, goes_to=goes_to)

    assert not written().exists()


@pytest.mark.parametrize(
    "other",
    [{"content": letter("Third thoughts")}, {"goes_to": "reached"}, {"version": 3}, {"version": 1}],
)
def test_key_belongs_to_its_content_version_and_readers(correct, first, other):
    sent(first)
    correct()

    with pytest.raises(KeyUsedForOtherContentError):
        correct(**other)

    assert Edition.objects.count() == 2


def test_correction_and_new_issue_cannot_share_a_key(author, correct, first):
    correct(content=letter())

    with pytest.raises(KeyUsedForOtherContentError, match="version 2"):
        publish(author.pk, "second", letter(), hold_s=0)
    with pytest.raises(KeyUsedForOtherContentError):
        correct(2, "first", content=letter())
    assert Edition.objects.count() == 2


# --- Corrections to readers who were not reached, or to nobody ---


@pytest.fixture
def stopped_half_way(first):
    """Cancel version 1 when Ada's copy is sent, Bram's unconfirmed, and Cleo's queued."""
    sent(first, "Ada")
    in_doubt(first, "Bram")
    cancelled(first)
    return first


def test_unreached_excludes_sent_and_unconfirmed_copies(correct, stopped_half_way):
    SubscriberFactory(name="Dirk")

    edition = correct(goes_to="unreached").edition

    assert readers_of(edition) == {"Cleo", "Dirk"}
    assert edition.audience == 2


def test_unreached_reader_who_unsubscribed_gets_nothing(correct, stopped_half_way):
    leave(Subscriber.objects.get(name="Cleo").pk)

    assert readers_of(correct(goes_to="unreached").edition) == set()


@pytest.mark.parametrize("mark", ["sent_at", "provider_message_id", "evidence"])
def test_a_copy_with_a_mark_is_not_unreached(correct, stopped_half_way, mark):
    cleo = Delivery.objects.filter(version=1, name="Cleo")
    if mark == "evidence":
        copy = cleo.get()
        Evidence.objects.create(
            provider_message_id="m-1", issue_id=copy.issue_id, recipient_id=copy.recipient_id,
            version=1, source="lookup",
        )  # fmt: skip
    else:
        cleo.update(**{mark: Now() if mark == "sent_at" else "m-1"})

    assert readers_of(correct(goes_to="unreached").edition) == set()


def test_after_a_cancelled_edition_the_default_is_the_unreached(correct, stopped_half_way):
    edition = correct().edition

    assert (edition.goes_to, readers_of(edition)) == ("unreached", {"Cleo"})


def test_draft_offers_unreached_readers_if_all_copies_are_unconfirmed(first):
    in_doubt(first)
    cancelled(first)

    offered = [one.goes_to for one in audience_choices(plan_version(first.issue_id))]

    assert offered == ["everyone", "reached", "unreached", "nobody"]


def test_after_a_called_back_edition_the_default_is_everyone(author, three_readers):
    held = publish(author.pk, "held", letter(), hold_s=60).edition
    called_back(held)

    again = publish(author.pk, "k", letter(), hold_s=0, issue=held.issue_id, version=2).edition

    assert (again.goes_to, again.audience) == ("everyone", 3)


def test_replay_without_a_choice_is_answered_after_the_default_changed(correct, first):
    second = correct().edition
    cancelled(first)
    cancelled(second)

    assert correct() == PublishResult(second, created=False)


def in_a_call(edition):
    """Cancel the edition while a call with its copies is in flight."""
    Call()
    edition_control.cancel(edition.pk)


def was_missed(edition):
    """Mark Cleo's copy as failed after all tries, without an author's decision."""
    sent(edition, "Ada", "Bram")
    Delivery.objects.filter(name="Cleo").update(outcome="failed", missed=True, reason="Tries.")
    Batch.objects.filter(edition=edition).update(state="done", waiting=0, failed=1, missed=1)


@pytest.mark.parametrize("becomes", [waits, in_a_call, was_missed])
def test_unreached_audience_waits_until_no_earlier_copy_can_be_sent(correct, first, becomes):
    becomes(first)

    with pytest.raises(VersionRefusedError, match="version 1"):
        correct(goes_to="unreached")

    first.pk, first.version, first.goes_to, first.idempotency_key = None, 2, "unreached", "k2"
    with pytest.raises(IntegrityError, match="may still be sent"), transaction.atomic():
        first.save(force_insert=True)


@pytest.mark.parametrize("evidence_comes", [False, True])
def test_a_call_in_flight_at_a_cancel_is_not_unreached(correct, first, evidence_comes):
    call = Call()
    edition_control.cancel(first.pk)
    call.ends(Unanswered(because("Silence.")))
    if evidence_comes:
        accepted = [
            (copy.recipient_id, Sent(f"m-{copy.name}", None)) for copy in Delivery.objects.all()
        ]
        with transaction.atomic(), connection.cursor() as cursor:
            lock_edition(cursor, first.pk)
            record_acceptances(cursor, first.pk, None, accepted, Evidence.Source.WEBHOOK)
            settle_by_evidence(cursor, first.pk, [recipient for recipient, _ in accepted])

    assert readers_of(correct(goes_to="unreached").edition) == set()


@pytest.mark.parametrize("goes_to", ["reached", "unreached", None])
@pytest.mark.parametrize("restore", ["noticed", "unnoticed"])
def test_after_a_restore_a_correction_waits_for_its_reconciliation(
    correct, stopped_half_way, goes_to, restore
):
    if restore == "noticed":
        Edition.objects.update(unreconciled_since=Now())
    else:
        database_identity.check_identity()
        DatabaseIdentity.objects.update(database=1)

    with pytest.raises(VersionRefusedError, match=r"Run `\./homing reconcile .*` first"):
        correct(goes_to=goes_to)

    plan = plan_version(stopped_half_way.issue_id)
    assert [one.goes_to for one in audience_choices(plan) if "not available" in one.label] == [
        "reached", "unreached",
    ]  # fmt: skip
    assert correct(goes_to="everyone").created


@pytest.mark.parametrize("goes_to", ["reached", "unreached"])
def test_the_database_refuses_corrections_of_unreconciled_versions(stopped_half_way, goes_to):
    Edition.objects.update(unreconciled_since=Now())
    second = Edition.objects.get()
    second.pk, second.version, second.idempotency_key = None, 2, "k2"
    second.goes_to, second.unreconciled_since = goes_to, None

    with pytest.raises(IntegrityError, match="who was sent version 1"):
        second.save(force_insert=True)


@pytest.mark.parametrize("version", [1, 2])
def test_version_for_nobody_appears_only_in_the_archive(author, first, public_window, version):
    sent(first)
    issue = {"issue": first.issue_id, "version": 2} if version == 2 else {}

    edition = publish(author.pk, "n", CORRECTED, hold_s=60, goes_to="nobody", **issue).edition

    assert (edition.audience, readers_of(edition)) == (0, set())
    assert load_status(edition.pk).state == "succeeded"
    assert "Fourteen" in public_window.get(f"/archive/{edition.issue.slug}/").words


# --- The address in the archive ---


RENAMED = letter("Herons stay")


def test_a_renamed_issue_that_was_called_back_gets_another_address(author, three_readers):
    held = publish(author.pk, "held", letter(), hold_s=60).edition
    called_back(held)

    again = publish(author.pk, "again", RENAMED, hold_s=60, issue=held.issue_id, version=2).edition

    assert again.archive_url.endswith("/archive/herons-stay/")
    assert again.archive_url.endswith(f"/{Issue.objects.get(pk=held.issue_id).slug}/")


def test_a_called_back_issue_keeps_its_address_without_renaming(author, first):
    second = publish(author.pk, "held", letter(), hold_s=60).edition
    called_back(second)

    again = publish(author.pk, "a", letter(), hold_s=0, issue=second.issue_id, version=2).edition

    assert again.archive_url == second.archive_url != first.archive_url


def left(edition):
    """Cancel the edition while its copies are unconfirmed."""
    in_doubt(edition)
    cancelled(edition)


def refused(edition):
    """Cancel the edition while a call runs; the call then fails to connect."""
    call = Call()
    edition_control.cancel(edition.pk)
    call.ends(NotSent(because("The connection was refused.")))
    assert Edition.objects.get(pk=edition.pk).control == "cancelled"


@pytest.mark.parametrize("becomes", [sent, left, refused, waits])
def test_archive_address_stays_once_a_copy_may_have_been_sent(correct, first, becomes):
    becomes(first)

    renamed = correct(content=RENAMED).edition

    assert renamed.archive_url == first.archive_url
    with pytest.raises(IntegrityError, match="address"), transaction.atomic():
        Issue.objects.filter(pk=first.issue_id).update(slug="elsewhere")


def test_renaming_a_called_back_issue_twice_publishes_once(author, three_readers):
    held = publish(author.pk, "held", letter(), hold_s=60).edition
    called_back(held)

    def again(key):
        return publish(
            author.pk,
            key,
            letter(f"Title {key}"),
            hold_s=0,
            issue=held.issue_id,
            version=2,
            goes_to="nobody",  # so the page is public at once, and its address stays
        )

    outcomes = at_once(lambda: again("a"), lambda: again("b"))

    assert sorted(outcome.created for outcome in outcomes) == [False, True]
    edition = Edition.objects.get(version=2)
    assert edition.archive_url.endswith(f"/{edition.issue.slug}/")


def test_concurrent_publication_waits_and_returns_the_first_edition(author, correct, first):
    """The second insert waits at a constraint until the first call has committed."""

    def waits():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks"
                " WHERE NOT granted AND transactionid = pg_current_xact_id()::xid"
            )
            return cursor.fetchone()[0]

    with transaction.atomic():
        theirs = correct(2, "theirs", letter("Theirs")).edition
        mine = beside(lambda: correct(2, "mine"))
        while not waits():
            assert not mine.done()
    outcome = mine.result(PATIENCE_S)

    assert (outcome.edition.pk, outcome.created) == (theirs.pk, False)
    assert outcome.edition.title == "Theirs"


def test_warning_names_an_earlier_version_still_being_sent(correct, first):
    sent(first, "Ada")
    everyone, reached = (
        overlap_warnings(first.issue_id, 2, whom) for whom in ("everyone", "reached")
    )
    assert "2 copies are queued or being sent" in everyone[0]
    assert "2 copies are queued or being sent" in reached[0]
    assert everyone != reached

    in_doubt(first, "Bram")
    assert "1 copy of version 1 is unconfirmed" in " ".join(
        overlap_warnings(first.issue_id, 2, "reached")
    )
    cancelled(first)
    assert overlap_warnings(first.issue_id, 2, "reached") == []
