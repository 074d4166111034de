"""Actions of an author, an operator and a worker, each with the real code."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import F

from delivery.feedback import event_inbox
from delivery.models import Attempt, DatabaseIdentity, Delivery, Edition
from delivery.provider.from_settings import policy_from_settings, provider_class
from delivery.queue import edition_control
from delivery.queue.claim_due_batch import Claim, claim
from delivery.queue.record_evidence import treat_as_sent
from delivery.queue.settle_batch import settle_call
from delivery.queue.start_call import start
from delivery.reconcile import reconcile_in_rounds
from delivery.reports.load_edition_counts import load_counts
from delivery.rules import after_call_or_lookup
from delivery.rules.call_results import CallResult, Deferred
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState, state_of
from delivery.tasks import register_background_task
from delivery.worker.step import Dispatcher
from delivery.worker.unsent_calls import UnsentCalls
from delivery.worker.worker_process import recover_dead_workers
from publishing.content.edition_content import Content
from publishing.editions.start_scheduled import start_sent_before_restore
from publishing.publish.publish_edition import PublishResult, edition_by_key, publish
from tests.crash_points.points import watch
from tests.crash_points.provider import Provider
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom, steady_dice

LETTER = Content.from_input(title="Swifts", html="<p>Dear {{ name|reader }}</p>")
KEY = "the-author-pressed-once"


@dataclass(frozen=True)
class Stage:
    """The initial state of a scenario: the author, the readers and the hold.

    With `one_machine` the processes find each other's lists of unsent calls. With `counts_as_sent`
    the operator decides so about unconfirmed copies, instead of resending them.
    """

    author: uuid.UUID
    readers: int
    hold_s: float
    one_machine: bool
    counts_as_sent: bool


def _discard(line: str) -> None:
    """Discard a line of progress."""


class Interrupting:
    """Makes a client run another action, one time only, before it returns an answer."""

    meanwhile: Callable[[], object] | None = None

    def send(
        self, *args: Any, about_to_complete: Callable[[], None] = lambda: None, **kwargs: Any
    ) -> CallResult:
        def unlist() -> None:
            about_to_complete()
            watch.changed()

        sends: Any = super()
        answer: CallResult = sends.send(*args, about_to_complete=unlist, **kwargs)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return answer


@dataclass(frozen=True)
class LostCall:
    """A recorded call whose result only this worker knows."""

    claim: Claim
    attempt: uuid.UUID
    recipients: Sequence[int]


class Hands:
    def __init__(self, stage: Stage, provider: Provider) -> None:
        self.stage = stage
        self._provider = provider
        self._newsroom = Newsroom()
        self._client: Any = type("Interrupted", (Interrupting, provider_class()), {})()
        worker = uuid.uuid4()
        self._unsent = UnsentCalls(worker) if stage.one_machine else None
        self._dispatcher = Dispatcher(
            worker,
            self._client,
            policy=policy_from_settings(),
            jitter=steady_dice,
            unsent=self._unsent and self._unsent.entry(0),
        )

    def close(self) -> None:
        """End this worker gracefully."""
        if self._unsent is not None:
            self._unsent.close()

    def publish(self) -> PublishResult:
        """Post the author's form, with the same key each time."""
        return publish(self.stage.author, KEY, LETTER, hold_s=self.stage.hold_s)

    @property
    def edition(self) -> Edition | None:
        with watch.not_counted():
            return edition_by_key(self.stage.author, KEY)

    @property
    def the_edition(self) -> Edition:
        edition = self.edition
        assert edition is not None
        return edition

    def ask_provider(self, question: str, *arguments: Any) -> Any:
        """Call the provider without crash points, because this is not a worker's call."""
        with watch.not_counted():
            return self._provider.ask(question, *arguments)

    def step(self) -> bool:
        return self._dispatcher.step()

    def watch_over_the_queue(self) -> None:
        if self._unsent is not None:
            recover_dead_workers()
        self._newsroom.recover_expired_leases()
        event_inbox.apply_pending()
        register_background_task.run_all()

    def work(self) -> None:
        self.watch_over_the_queue()
        while self.step():
            pass

    def before_the_next_answer_is_read(self, meanwhile: Callable[[], object]) -> None:
        self._client.meanwhile = meanwhile

    def a_worker_is_lost_before_its_call(self) -> None:
        with watch.not_counted():
            assert claim(uuid.uuid4(), lease_s=60) is not None

    def a_worker_is_lost_in_its_call(self) -> LostCall:
        with watch.not_counted():
            claimed = claim(uuid.uuid4(), lease_s=60)
            assert claimed is not None
            attempt = uuid.uuid4()
            started = start(claimed, attempt, uuid.uuid4(), deadline_s=60, lease_s=60)
            assert started
            return LostCall(claimed, attempt, started)

    def record_a_late_refusal(self, lost: LostCall) -> None:
        """Let the worker of the lost call record a refusal by the provider."""
        settlement = after_call_or_lookup.after_call(
            Deferred(because("Postmark was under maintenance (503).")),
            lost.recipients,
            lost.claim.history,
            jitter=steady_dice(),
            policy=policy_from_settings(),
        )
        settle_call(lost.claim, lost.attempt, settlement, Attempt.Result.REFUSED)

    def a_backup_is_restored_that_lacks_a_call(self) -> None:
        """Make and settle one call, then restore every row to its state before the call."""
        tables = ("batch", "delivery", "attempt", "evidence")
        with watch.not_counted(), connection.cursor() as cursor:
            backup = {}
            for table in tables:
                cursor.execute(f"SELECT coalesce(jsonb_agg({table}), '[]')::text FROM {table}")
                backup[table] = cursor.fetchone()[0]
            self.step()
            for table in tables:
                cursor.execute(f"DELETE FROM {table}")
                cursor.execute(
                    f"INSERT INTO {table} "
                    f"SELECT * FROM jsonb_populate_recordset(NULL::{table}, %s)",
                    [backup[table]],
                )
            # A backup contains the identity of the database that it was made from.
            DatabaseIdentity.objects.update(database=1)

    def is_another_database(self) -> bool:
        with watch.not_counted():
            return DatabaseIdentity.objects.filter(database=1).exists()

    def reconcile(self) -> None:
        reconcile_in_rounds.reconcile(
            None, waits=False, start_sent=start_sent_before_restore, report_progress=_discard
        )

    def resend_unknown(self) -> None:
        """Decide to resend the unconfirmed copies. Each may arrive a second time."""
        self.ask_provider("decide", "resent", self._undecided())
        edition_control.resend_unknown(self.the_edition.pk)

    def count_as_sent(self) -> None:
        """Decide that the unconfirmed copies count as sent. Each may be missing."""
        self.ask_provider("decide", "counted", self._undecided())
        treat_as_sent(self.the_edition.pk)

    def _undecided(self) -> list[str]:
        with watch.not_counted():
            unknown = Delivery.objects.filter(outcome="unknown").values_list(
                "issue_id", "version", "recipient_id"
            )
            return [str(DeliveryKey(*row)) for row in unknown]

    def webhooks_arrive_for_every_copy(self) -> None:
        for body in self.ask_provider("webhooks"):
            kept = event_inbox.store(body)
            if kept is not None:
                event_inbox.apply(kept)

    def time_passes(self, seconds: float) -> None:
        with watch.not_counted():
            self._newsroom.let_time_pass(seconds)
            Edition.objects.update(
                unreconciled_since=F("unreconciled_since") - timedelta(seconds=seconds)
            )

    def counts(self) -> EditionCounts:
        with watch.not_counted():
            return load_counts(self.the_edition.pk)

    def state(self) -> EditionState:
        return state_of(self.counts())
