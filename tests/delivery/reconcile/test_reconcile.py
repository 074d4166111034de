"""The records of copies are compared with the provider's, in both directions."""

import io
import json
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
import requests
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from delivery.models import Alarm, Attempt, Batch, Edition
from delivery.models.attempt import NO_BATCH
from delivery.postmark import walk_messages
from delivery.queue import edition_control
from delivery.reconcile import database_identity, record_findings
from delivery.reconcile.record_findings import end_reconciliation, load_editions
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.reason import Reason, ReasonCode
from publishing.content.edition_content import Content
from tests.delivery.edition_factory import Newsroom
from tests.delivery.reconcile.table_backup import KeptRows
from tests.delivery.webhook_events import key_of
from tests.delivery.worker_steps import changed, copies_by_key
from tests.publishing.publish_with import publish

LAST_LOOK_UP_S = 900.0
CALL_S = 5.0
Reconcile = Callable[..., dict[str, Any]]


@pytest.fixture
def reconcile(newsroom: Newsroom) -> Reconcile:
    """Run the command; return its last line, with the exit code under `exit`."""

    def run(*options: str) -> dict[str, Any]:
        output, errors = io.StringIO(), io.StringIO()
        code: object = 0
        try:
            call_command("reconcile", *options, stdout=output, stderr=errors)
        except SystemExit as end:
            code = end.code
        answer = json.loads(output.getvalue().splitlines()[-1])
        return answer | {"exit": code, "message": errors.getvalue()}

    return run


def let_time_pass(newsroom: Newsroom, seconds: float) -> None:
    """Move all records into the past by this duration."""
    newsroom.let_time_pass(seconds)
    with connection.cursor() as cursor:
        for moved in ("delivery.sent_at", "edition.unreconciled_since", "alarm.raised_at"):
            table, column = moved.split(".")
            cursor.execute(
                f"UPDATE {table} SET {column} = {column} - %s", [timedelta(seconds=seconds)]
            )


def correct(newsroom: Newsroom, edition: Edition, *, hold_s: float = 0.0) -> Edition:
    return publish(
        newsroom.author.pk,
        uuid.uuid4().hex,
        Content.from_input(title="Swifts", html="<p>Rather martins</p>"),
        hold_s=hold_s,
        issue=edition.issue_id,
        version=2,
    ).edition


def until_silence_counts(newsroom: Newsroom) -> None:
    let_time_pass(newsroom, LAST_LOOK_UP_S + CALL_S + 1)


def restored(newsroom: Newsroom) -> None:
    """Declare a restore that is old enough for a missing copy to count as not sent."""
    database_identity.declare_restored()
    until_silence_counts(newsroom)


def deliver_and_forget(newsroom: Newsroom) -> None:
    """Deliver all copies, then restore a backup from before the delivery."""
    backup = KeptRows()
    newsroom.deliver_all()
    backup.restore()


def accept(newsroom: Newsroom, edition: Edition, key: str) -> None:
    """Make the provider accept a message that this database did not send."""
    answer = requests.post(
        f"{newsroom.sandbox.url}/email",
        json={
            "From": "letter@example.org",
            "To": "reader0@example.net",
            "Subject": "Swifts",
            "TextBody": "Swifts",
            "MessageStream": edition.stream,
            "Tag": f"issue-{edition.issue_id.hex}",
            "Metadata": {"delivery": key, "attempt": "0" * 32},
        },
        headers={"X-Postmark-Server-Token": "sandbox", "Accept": "application/json"},
        timeout=10,
    )
    assert answer.json()["ErrorCode"] == 0


def test_copies_sent_after_the_backup_are_recorded_once(
    newsroom: Newsroom, reconcile: Reconcile, settings: Any
) -> None:
    settings.DELIVERY_BATCH_SIZE = 3
    settings.DELIVERY_HTTP_DEADLINE_S = 60.0
    edition = newsroom.publish(9)
    newsroom.step()
    backup = KeptRows()
    newsroom.step()
    backup.restore()
    early = reconcile("--restored", "--no-wait")
    assert early["exit"] == 3
    assert early["recorded"] == 3
    assert "results are reliable from" in early["message"]
    newsroom.deliver_all()
    assert len(copies_by_key(newsroom)) == 6
    # A call may have started just before the restore. The look-ups of this call begin after its
    # deadline.
    let_time_pass(newsroom, LAST_LOOK_UP_S)
    assert reconcile("--no-wait")["reconciled"] == 0
    let_time_pass(newsroom, 61)
    answer = reconcile()
    assert (answer["exit"], answer["reconciled"], answer["recorded"]) == (0, 1, 0)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"] * 9
    assert set(copies_by_key(newsroom).values()) == {1}
    sent = newsroom.copies(edition)[4]
    assert sent.evidence == "lookup"
    assert sent.provider_message_id is not None
    newsroom.counts(edition)


def test_search_result_is_matched_by_key_not_tag(newsroom: Newsroom, reconcile: Reconcile) -> None:
    edition, other = newsroom.publish(2), newsroom.publish()
    stranger = DeliveryKey(other.issue_id, 1, newsroom.copies(other)[0].recipient_id)
    accept(newsroom, edition, str(stranger))
    assert reconcile(str(edition.issue_id))["recorded"] == 0
    assert newsroom.outcomes(other) == ["waiting"] * 2


def test_versions_of_an_issue_are_distinguished(newsroom: Newsroom, reconcile: Reconcile) -> None:
    first = newsroom.publish(2)
    newsroom.deliver_all()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE delivery SET outcome = 'waiting', sent_at = NULL, evidence = NULL,"
            " provider_message_id = NULL, version = 2"
        )
        cursor.execute("UPDATE batch SET state = 'paused', sent = 0, waiting = 2")
        cursor.execute("ALTER TABLE edition DISABLE TRIGGER USER")
        cursor.execute("UPDATE edition SET version = 2")
        cursor.execute("ALTER TABLE edition ENABLE TRIGGER USER")
    first.refresh_from_db()
    answer = reconcile()
    assert (answer["recorded"], answer["found"]) == (0, 0)
    assert newsroom.outcomes(first) == ["waiting"] * 2


def test_unknown_version_is_reported_separately(newsroom: Newsroom, reconcile: Reconcile) -> None:
    first = newsroom.publish(3)
    newsroom.deliver_all()
    backup = KeptRows()
    correct(newsroom, first)
    newsroom.deliver_all()
    backup.restore()
    answer = reconcile("--restored")
    assert (answer["exit"], answer["of_unknown_versions"], answer["recorded"]) == (3, 3, 0)
    assert (
        f"Postmark has 3 messages of version 2 of “Swifts” (issue {first.issue_id}). It was "
        "published after the backup, so this database does not have it." in answer["message"]
    )
    # The printed advice is enough to prevent second copies.
    again = correct(newsroom, first, hold_s=600)
    answer = reconcile(str(first.issue_id))
    assert (answer["exit"], answer["of_unknown_versions"], answer["recorded"]) == (0, 0, 3)
    edition_control.send_now(again.pk)
    newsroom.deliver_all()
    assert newsroom.outcomes(again) == ["sent"] * 3
    assert len(copies_by_key(newsroom)) == 6
    assert set(copies_by_key(newsroom).values()) == {1}


def test_known_version_with_only_old_calls_is_not_reported(
    newsroom: Newsroom, reconcile: Reconcile
) -> None:
    first = newsroom.publish(3)
    newsroom.deliver_all()
    second = correct(newsroom, first)
    newsroom.step()
    Attempt.objects.filter(edition=first).update(started_at="2020-01-01T00:00:00Z")
    answer = reconcile()
    assert (answer["exit"], answer["editions"], answer["of_unknown_versions"]) == (0, 1, 0)
    assert answer["found"] == newsroom.counts(second).sent


def forget_at_the_provider(newsroom: Newsroom) -> Edition:
    """Deliver an edition that the provider then forgets, while it shows later mail."""
    edition = newsroom.publish(3)
    newsroom.deliver_all()
    newsroom.sandbox.outbox.clear()
    let_time_pass(newsroom, 60)
    newsroom.publish()
    newsroom.deliver_all()
    return edition


def test_copies_missing_from_the_search_raise_an_alarm(
    newsroom: Newsroom, reconcile: Reconcile
) -> None:
    edition = forget_at_the_provider(newsroom)
    # The latest mail may not be in the search yet.
    assert reconcile()["missing"] == 0
    until_silence_counts(newsroom)
    # If a search does not show later mail, its index lags.
    newsroom.sandbox.set_fault("search_delay", seconds=3600)
    assert reconcile(str(edition.issue_id))["missing"] == 0
    newsroom.sandbox.faults.clear()
    for _ in range(2):
        answer = reconcile()
        assert answer["missing"] == 3
        assert "does not show: 3. They were not resent." in answer["message"]
    alarms = Alarm.objects.filter(kind=Alarm.Kind.NOT_AT_PROVIDER, edition=edition)
    about = {alarm.about for alarm in alarms}
    assert about == {key_of(edition, reader) for reader in newsroom.recipients(edition)}
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert not about & copies_by_key(newsroom).keys()


def test_recent_copies_missing_from_the_search_are_checked_later(
    newsroom: Newsroom, reconcile: Reconcile
) -> None:
    edition = forget_at_the_provider(newsroom)
    last_sent_at = max(copy.sent_at for copy in newsroom.copies(edition) if copy.sent_at)
    answer = reconcile(str(edition.issue_id))
    assert (answer["exit"], answer["too_fresh"], answer["missing"]) == (3, 3, 0)
    again_at = datetime.fromisoformat(answer["again_at"])
    assert again_at == last_sent_at + timedelta(seconds=LAST_LOOK_UP_S)
    assert "does not show yet: 3. They are too recent to judge." in answer["message"]
    assert (
        f"./homing reconcile {edition.issue_id} again after {again_at:%Y-%m-%d %H:%M:%S} UTC"
        in (answer["message"])
    )
    until_silence_counts(newsroom)
    # While the search lags, copies are too recent even after the time of the last look-up.
    newsroom.sandbox.set_fault("search_delay", seconds=3600)
    answer = reconcile(str(edition.issue_id))
    assert (answer["exit"], answer["too_fresh"], answer["missing"]) == (3, 3, 0)
    assert datetime.fromisoformat(answer["again_at"]) > again_at
    newsroom.sandbox.faults.clear()
    answer = reconcile()
    assert (answer["too_fresh"], answer["again_at"], answer["missing"]) == (0, None, 3)


def test_run_that_waited_checks_the_whole_issue(
    newsroom: Newsroom, reconcile: Reconcile, settings: Any
) -> None:
    settings.DELIVERY_RETRY_BASE_S = 0.01
    edition = forget_at_the_provider(newsroom)
    correct(newsroom, edition)
    restored(newsroom)
    # The first version has ended, so only the second version has to be reconciled.
    Edition.objects.filter(pk=edition.pk).update(unreconciled_since=None)
    newsroom.sandbox.set_fault("search_delay", seconds=3600, calls=1)
    answer = reconcile(str(edition.issue_id))
    assert (answer["reconciled"], answer["missing"], answer["too_fresh"]) == (1, 3, 0)


def test_lagging_search_causes_no_second_copy(
    newsroom: Newsroom, reconcile: Reconcile, settings: Any
) -> None:
    settings.DELIVERY_BATCH_SIZE = 2
    newsroom.publish(4)
    newsroom.step()
    backup = KeptRows()
    newsroom.step()
    backup.restore()
    restored(newsroom)
    # The search lags at the first call, before the provider's record is read. Later calls would
    # find everything.
    newsroom.sandbox.set_fault("search_delay", seconds=3600, calls=1)
    answer = reconcile("--no-wait")
    assert (answer["exit"], answer["reconciled"]) == (3, 0)
    assert "lags" in answer["message"]
    newsroom.deliver_all()
    assert set(copies_by_key(newsroom).values()) == {1}


# After a restore, Homing does not know which readers have the cancelled issue. A correction for the
# readers without the issue would also go to readers who have it.
@pytest.mark.parametrize("cancelled", [False, True], ids=["running", "cancelled"])
def test_late_search_without_mail_on_record_causes_no_second_copy(
    newsroom: Newsroom, reconcile: Reconcile, cancelled: bool
) -> None:
    edition = newsroom.publish(2)
    deliver_and_forget(newsroom)
    restored(newsroom)
    if cancelled:
        edition_control.cancel(edition.pk)
    newsroom.sandbox.set_fault("search_delay", seconds=3600, calls=None)

    answer = reconcile("--no-wait")

    assert (answer["exit"], answer["reconciled"]) == (3, 0)
    assert "lags" in answer["message"]
    newsroom.deliver_all()
    assert newsroom.sandbox.summary()["accepted"] == 2
    newsroom.sandbox.faults.clear()
    assert reconcile("--no-wait")["reconciled"] == 1
    assert newsroom.outcomes(edition) == ["sent"] * 2
    assert newsroom.sandbox.summary()["dropped"] == 1


def test_check_mail_is_not_the_last_accepted_call(newsroom: Newsroom) -> None:
    edition = newsroom.publish(1)
    newsroom.deliver_all()
    last = record_findings.find_last_accepted(edition.stream)
    (call,) = newsroom.attempts(edition)
    call.pk, call.batch_id, call.started_at = uuid.uuid4(), NO_BATCH, timezone.now()
    call.save(force_insert=True)
    assert record_findings.find_last_accepted(edition.stream) == last


def test_server_without_the_recorded_mail_reconciles_nothing(
    newsroom: Newsroom, reconcile: Reconcile
) -> None:
    newsroom.publish(4, batch_size=2)
    newsroom.step()
    restored(newsroom)
    # Empty the provider's record, as if the token belonged to another server. The other server
    # shows only the check mail.
    newsroom.sandbox.outbox.clear()
    assert reconcile("--no-wait")["reconciled"] == 0


def test_refused_check_mail_reconciles_nothing(newsroom: Newsroom, reconcile: Reconcile) -> None:
    newsroom.publish(2)
    restored(newsroom)
    newsroom.sandbox.set_account("pending")
    assert reconcile("--no-wait")["reconciled"] == 0


def test_held_edition_can_be_called_back_after_a_check_mail(
    newsroom: Newsroom, reconcile: Reconcile
) -> None:
    edition = newsroom.publish(2, hold_s=86_400)
    restored(newsroom)
    assert reconcile("--no-wait")["reconciled"] == 1
    assert newsroom.sandbox.summary()["dropped"] == 1
    assert edition_control.call_back(edition.pk) == 2


def test_later_mail_of_another_stream_or_clock_reconciles_nothing(newsroom: Newsroom) -> None:
    edition = newsroom.publish(1)
    newsroom.deliver_all()
    assert record_findings.find_last_accepted(edition.stream) is not None
    assert record_findings.find_accepted_after(edition.stream, edition.published_at) is not None
    Attempt.objects.update(started_at=Now() + timedelta(hours=1))
    assert record_findings.find_accepted_after(edition.stream, edition.published_at) is None
    Attempt.objects.update(stream="outbound", started_at=Now())
    assert record_findings.find_last_accepted(edition.stream) is None
    assert record_findings.find_accepted_after(edition.stream, edition.published_at) is None


def test_forgotten_editions_wait_unless_cancelled(newsroom: Newsroom, reconcile: Reconcile) -> None:
    edition = newsroom.publish(4)
    let_time_pass(newsroom, 46 * 86_400)
    restored(newsroom)
    answer = reconcile()
    assert (answer["exit"], answer["reconciled"]) == (3, 0)
    assert "no longer has a record" in answer["message"]
    edition_control.cancel(edition.pk)
    answer = reconcile()
    assert (answer["exit"], answer["reconciled"]) == (0, 1)
    assert newsroom.outcomes(edition) == ["withdrawn"] * 4


def test_edition_with_duplicate_copies_stays_stopped_after_reconciling(
    newsroom: Newsroom, reconcile: Reconcile, settings: Any
) -> None:
    settings.DELIVERY_BATCH_SIZE = 2
    edition = newsroom.publish(4)
    newsroom.step()
    for _ in range(2):
        accept(newsroom, edition, key_of(edition, newsroom.copies(edition)[3].recipient_id))
    restored(newsroom)
    answer = reconcile()
    assert (answer["twice"], answer["reconciled"], answer["recorded"]) == (1, 1, 1)
    assert Alarm.objects.get().kind == Alarm.Kind.ACCEPTED_TWICE
    edition.refresh_from_db()
    assert edition.control == "stopped"
    assert edition.control_reason == Reason.of(ReasonCode.ACCEPTED_TWICE)
    assert edition_control.resume(edition.pk)


def test_a_second_copy_of_a_recorded_copy_raises_an_alarm(
    newsroom: Newsroom, reconcile: Reconcile
) -> None:
    edition = newsroom.publish(1)
    newsroom.deliver_all()
    accept(newsroom, edition, key_of(edition, newsroom.copies(edition)[0].recipient_id))
    answer = reconcile()
    assert (answer["twice"], answer["found"]) == (1, 2)
    assert Alarm.objects.get().kind == Alarm.Kind.ACCEPTED_TWICE


def test_sent_time_without_a_provider_copy_is_cleared(
    newsroom: Newsroom, reconcile: Reconcile
) -> None:
    edition = newsroom.publish(2)
    key = changed(newsroom.copies(edition)[0], sent_at=Now())
    for _ in range(2):
        reconcile()
    assert Alarm.objects.get(kind=Alarm.Kind.MARKED_UNSETTLED).about == key
    assert newsroom.outcomes(edition) == ["unknown", "waiting"]
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["unknown", "sent"]
    for _ in range(3):
        let_time_pass(newsroom, LAST_LOOK_UP_S)
        newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "sent"]
    assert set(copies_by_key(newsroom).values()) == {1}
    newsroom.counts(edition)


def test_failed_search_proves_nothing_and_is_repeated(
    newsroom: Newsroom, reconcile: Reconcile, settings: Any
) -> None:
    settings.DELIVERY_RETRY_BASE_S = 0.01
    edition = forget_at_the_provider(newsroom)
    stopped = newsroom.publish()
    restored(newsroom)
    newsroom.sandbox.set_fault("search_503", calls=None)
    with pytest.raises(CommandError, match=r"Postmark's search failed 6 times\. Last error:"):
        reconcile()
    stopped.refresh_from_db()
    assert stopped.unreconciled_since is not None
    assert not Alarm.objects.exists()
    assert newsroom.outcomes(edition) == ["sent"] * 3
    newsroom.sandbox.faults.clear()
    newsroom.sandbox.set_fault("search_503", calls=3)
    assert reconcile()["reconciled"] == 1


def test_invalid_issue_id_is_refused(db: None) -> None:
    for command, name, message in (
        ("reconcile", "17", "“17” is not the id of an issue"),
        ("reconcile", "00000000-0000-0000-0000-000000000000", "There is no issue"),
        # An empty id does not mean all issues.
        ("reconcile", "", "“” is not the id of an issue"),
        ("audit", "", "“” is not the id of an issue"),
    ):
        with pytest.raises(CommandError, match=message):
            call_command(command, name)


def test_unbalanced_counts_do_not_block_other_editions(
    newsroom: Newsroom, reconcile: Reconcile
) -> None:
    broken, sound = newsroom.publish(3), newsroom.publish()
    deliver_and_forget(newsroom)
    database_identity.declare_restored()
    # Three rows wait, but the count is zero.
    Batch.objects.filter(edition=broken).update(waiting=0, failed=3)
    until_silence_counts(newsroom)
    answer = reconcile()
    assert (answer["exit"], answer["recorded"], answer["reconciled"]) == (3, 3, 1)
    assert (
        f"The counts do not balance, so Postmark's results could not be recorded. Run `./homing "
        f"audit {broken.issue_id}`" in answer["message"]
    )
    assert newsroom.outcomes(sound) == ["sent"] * 3
    broken.refresh_from_db()
    assert broken.unreconciled_since is not None
    assert newsroom.outcomes(broken) == ["waiting"] * 3
    Batch.objects.filter(edition=broken).update(waiting=3, failed=0)
    assert reconcile()["reconciled"] == 1
    assert newsroom.counts(broken).sent == 3


MANY = 540


def test_large_search_is_split_by_time(
    newsroom: Newsroom,
    reconcile: Reconcile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A search shows at most 10,000 results. The test uses a smaller limit.
    monkeypatch.setattr(walk_messages, "MAX_SEARCH_RESULTS", 500)
    edition = newsroom.publish(MANY, batch_size=500)
    backup = KeptRows()
    newsroom.deliver_all()
    requests = list(newsroom.sandbox.outbox.requests[::-1])
    at_ns = min(stored.at_ns for stored in requests)
    for apart_ns in (7 * 10**9, 0):
        # Now the provider has every copy, and the database has a record of none.
        backup.restore()
        database_identity.declare_restored()
        until_silence_counts(newsroom)
        newsroom.sandbox.calls.clear()
        for number, stored in enumerate(requests):
            stored.at_ns = at_ns - number * apart_ns

        answer = reconcile()

        assert (answer["found"], answer["recorded"]) == (MANY, MANY)
        assert (answer["reconciled"], answer["exit"]) == (1, 0)
        assert newsroom.counts(edition).sent == MANY
        if apart_ns:
            # The record is read in pages and time windows, without a search for each copy.
            assert len(newsroom.sandbox.calls.newest_first()) < 200


def test_reconciled_editions_keep_their_state(newsroom: Newsroom, reconcile: Reconcile) -> None:
    running, paused = newsroom.publish(2, title="Swifts"), newsroom.publish(title="Herons")
    stopped, held = newsroom.publish(), newsroom.publish(hold_s=86_400)
    edition_control.pause(paused.pk)
    Edition.objects.filter(pk=stopped.pk).update(control="stopped", control_reason="A fault.")
    restored(newsroom)
    answer = reconcile()
    assert answer["reconciled"] == 4
    assert dict(Edition.objects.values_list("pk", "control")) == {
        running.pk: "running",
        paused.pk: "paused",
        stopped.pk: "stopped",
        held.pk: "running",
    }
    assert not Edition.objects.filter(unreconciled_since__isnull=False).exists()
    # The backup does not know of a later pause.
    assert (
        f"Continues: “Swifts”, version 1 of issue {running.issue_id}: sending." in answer["message"]
    )
    assert "Repeat that action before workers start." in answer["message"]
    assert "Continues: “Herons”" not in answer["message"]
    newsroom.deliver_all()
    assert newsroom.outcomes(running) == ["sent"] * 2
    assert newsroom.outcomes(paused) == newsroom.outcomes(held) == ["waiting"] * 2
    assert newsroom.state(held) == "held"
    assert "Continues" not in reconcile()["message"]


def test_failed_run_still_names_continuing_editions(
    newsroom: Newsroom, reconcile: Reconcile, settings: Any
) -> None:
    settings.DELIVERY_RETRY_BASE_S = 0.01
    # The command reconciles issues in the order of their ids.
    first, second = sorted(
        (newsroom.publish(3), newsroom.publish(0)), key=lambda edition: edition.issue_id
    )
    restored(newsroom)
    newsroom.sandbox.calls.clear()
    reconcile(str(first.issue_id))
    asked = len(newsroom.sandbox.calls.newest_first())
    restored(newsroom)
    for _ in range(10):
        # Each fault fails only one call, and the command repeats a failed search.
        newsroom.sandbox.set_fault("search_503", nth=asked + 1)

    errors = io.StringIO()
    with pytest.raises(CommandError, match=r"Everything found before is recorded\."):
        call_command("reconcile", stderr=errors)

    assert f"version 1 of issue {first.issue_id}: sending." in errors.getvalue()
    assert str(second.issue_id) not in errors.getvalue()
    second.refresh_from_db()
    assert second.unreconciled_since is not None


def test_cancelled_edition_stays_cancelled_after_reconciling(
    newsroom: Newsroom, reconcile: Reconcile
) -> None:
    edition = newsroom.publish(3)
    deliver_and_forget(newsroom)
    database_identity.declare_restored()
    assert edition_control.cancel(edition.pk) == 3
    until_silence_counts(newsroom)
    answer = reconcile()
    assert (answer["exit"], answer["recorded"], answer["reconciled"]) == (0, 3, 1)
    edition.refresh_from_db()
    assert (edition.control, edition.unreconciled_since) == ("cancelled", None)
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert newsroom.counts(edition).sent == 3


def test_a_restore_during_the_walk_is_reconciled_again(newsroom: Newsroom) -> None:
    edition = newsroom.publish(2)
    restored(newsroom)
    (walked,) = load_editions(None, retention_days=45)
    database_identity.declare_restored()
    assert not end_reconciliation(walked)
    edition.refresh_from_db()
    assert edition.unreconciled_since is not None
