"""Register functions with apps that call these functions but must not import them."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import QuerySet

from api import bearer
from delivery.hooks import reader_hooks
from delivery.interface import PROVIDER_TASKS, event_inbox, merge_results, roll_up_finished
from delivery.tasks.register_background_task import (
    BackgroundTask,
    register_background_task,
    register_task,
)
from delivery.tasks.run_leased_task import open_tasks
from delivery.tasks.separate_process import register_separate_task, run_separately
from idempotency.run_once import form_posted
from newsletter_site.authors.invitation_mail_hook import ReadersAndInvited
from newsletter_site.data_retention import DAILY_PRUNE
from newsletter_site.operations.metrics import site_metrics
from newsletter_site.tokens.authenticate import find_caller
from publishing.drafts import save_draft
from publishing.editions.start_scheduled import START_TASK
from publishing.exporting import export_task as exports
from publishing.models import Export, IssueMove, Rehearsal
from publishing.past_issues import move_task as moves
from publishing.rehearsal import rehearse
from subscribers import reader_totals
from subscribers.data_requests import request_data
from subscribers.desk.many_readers import change_readers
from subscribers.field_and_tag_settings import change_fields_and_tags
from subscribers.importing import expire_uploads, import_task
from subscribers.models import ReaderChange, SubscriberImport
from subscribers.signup import expire_unconfirmed

# Look for expired rows only in every twelfth round, once a minute, because rows expire after days.
ROUNDS_OF_EXPIRY = 12


def register_hooks() -> None:
    """Register the hooks, and the tasks that a worker runs in addition to delivery."""
    reader_hooks.register(ReadersAndInvited())
    register_task(
        "requests for a record", request_data.answer_requests, request_data.has_waiting_requests
    )
    register_task("counts of finished batches", roll_up_finished)
    register_task("results of editions", merge_results)
    register_task("counts of readers", reader_totals.merge_totals)
    for name, expire in (
        ("sign-ups that nobody confirmed", expire_unconfirmed.expire_pending),
        ("files that nobody imported", expire_uploads.expire_file),
        ("old exports", exports.expire_exports),
        ("old rehearsals", rehearse.expire_rehearsals),
    ):
        register_task(name, expire, every=ROUNDS_OF_EXPIRY)
    for task in (
        BackgroundTask(
            "the provider's events", event_inbox.apply_pending_events, event_inbox.waiting
        ),
        BackgroundTask("imports", _run_change_or_import, _changes_and_imports),
        BackgroundTask("rehearsals, exports and past issues", _run_desk_task, _desk_tasks),
        change_fields_and_tags.REMOVAL_TASK,
        PROVIDER_TASKS,
        START_TASK,
        DAILY_PRUNE,
    ):
        register_background_task(task)
    for separate in (import_task.IMPORTS, moves.PAST_ISSUES):
        register_separate_task(separate)
    change_fields_and_tags.register_drafts(save_draft.title_with_tag, save_draft.may_name_field)
    bearer.register_token_lookup(find_caller)
    form_posted.connect(site_metrics.count_form, dispatch_uid="posted forms are counted")


# Imports and changes of many readers share a thread and its connection. Imports run even if a
# change fails again and again.
def _run_change_or_import(is_stopping: Callable[[], bool]) -> bool:
    return run_separately(import_task.IMPORTS.name, is_stopping) or change_readers.run_chunk()


def _changes_and_imports() -> Sequence[QuerySet[Any]]:
    return open_tasks(ReaderChange), open_tasks(SubscriberImport)


def _desk_tasks() -> Sequence[QuerySet[Any]]:
    return open_tasks(Rehearsal), open_tasks(IssueMove), open_tasks(Export)


def _run_desk_task(is_stopping: Callable[[], bool]) -> bool:
    return (
        rehearse.run_next_rehearsal(is_stopping)
        or run_separately(moves.PAST_ISSUES.name, is_stopping)
        or exports.run_next_export(is_stopping)
    )
