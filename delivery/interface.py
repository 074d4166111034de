"""The parts of the queue, the provider and reconciliation that other apps may use.

An import rule in pyproject.toml lets other apps import these parts only from here. Values, models,
mail and reports are imported from their folders.
"""

from delivery.feedback import event_inbox
from delivery.feedback.count_results import count_unsubscribed, merge_results
from delivery.feedback.lift_for_mail import request_lifting, was_lifted_for_mail
from delivery.feedback.poll_provider import PROVIDER_TASKS
from delivery.feedback.send_suppression_changes import queue_suppression_change
from delivery.provider.events import (
    AddressEvent,
    AddressReactivated,
    AddressSuppressed,
    Bounced,
    BounceMeaning,
    bounce_types,
)
from delivery.provider.from_settings import (
    batch_size,
    capabilities,
    provider_class,
    provider_name,
)
from delivery.provider.provider_protocol import Capabilities, Judged
from delivery.queue import edition_control, scheduled_editions
from delivery.queue.batches.insert_and_split import batch_size_for
from delivery.queue.batches.roll_up import roll_up_finished
from delivery.queue.enqueue_edition import enqueue
from delivery.queue.enqueue_test_letter import (
    enqueue_test,
    load_test_letter,
    next_number,
    test_letters_to,
)
from delivery.queue.enqueue_transactional import enqueue_welcome, request_mail
from delivery.queue.erasure_lock import LOCK_ENQUEUE, wait_for_enqueues
from delivery.queue.record_evidence import treat_as_sent
from delivery.queue.short_transaction import join_transaction, short_transaction, together
from delivery.reconcile import database_identity
from delivery.reconcile.reconcile_in_rounds import ReconcileResult, reconcile
from delivery.reconcile.record_findings import database_time, load_unreconciled_versions
from delivery.reconcile.walk_provider_record import SearchUnavailableError
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.reason import Reason, ReasonCode
from delivery.worker.process_group import ProcessGroup
from delivery.worker.step import renderer_of
