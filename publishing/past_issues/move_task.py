"""Move in the issues of an uploaded export, in one worker under a lease.

If a worker is killed, another worker continues the move after the last settled issue.
"""

import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import IO
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, reset_queries, transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from delivery.humanise import digits
from delivery.issue_attributes import PREVIEW_TEXT, TITLE
from delivery.mail.merge_fields import escape_braces
from delivery.models import Edition
from delivery.tasks.leased_task_columns import TaskState
from delivery.tasks.run_leased_task import ClaimedTask, TaskRefusedError, run_next, separate_task
from publishing.activity.record_issue_activity import record_task
from publishing.approval.record_approval import needs_approval
from publishing.content.compose_content import edition_columns
from publishing.content.edition_content import Content, find_problems
from publishing.content.text_part import html_to_text
from publishing.editions.audience import NOBODY
from publishing.editions.issue_address import save_moved_issue
from publishing.external_checks.domain_records import NameServers
from publishing.external_checks.open_link import LinkOpener
from publishing.models import Issue, IssueMove, IssueMovePiece, MovedIssue
from publishing.past_issues.clean_letter import clean_letter
from publishing.past_issues.copy_images import ImageCopier
from publishing.past_issues.own_export import own_content
from publishing.past_issues.past_issue import (
    PastIssue,
    Product,
    Skip,
    SkipIssueError,
    Take,
    UnusableExportError,
    word_of,
)
from publishing.past_issues.read_export import Export
from subscribers.files.file_pieces import spooled, store_pieces

logger = logging.getLogger(__name__)

LONGEST_SITE = 300
LONGEST_KEY = 100
MOST_NOTES = 1_000
MOVED, KNOWN = "moved", "known"
PICTURE_KEPT, PLAYER_LEFT_OUT, OTHER_ADDRESS = "picture_kept", "player_left_out", "other_address"

OpenerMaker = Callable[[], LinkOpener]


class MoveRefusedError(TaskRefusedError):
    """The uploaded file was not accepted for a move. `code` says why."""


def request_move(file: IO[bytes], filename: str, site: str, by: UUID) -> IssueMove:
    """Store an export for a worker, and record the request in the activity log.

    Call this in a transaction. Raises `MoveRefusedError` if approval is required or another move is
    open.
    """
    if needs_approval():
        raise MoveRefusedError("needs_approval")
    site = site_address(site)
    if file.seek(0, 2) > settings.IMPORT_MAX_MB * 1024 * 1024:
        raise MoveRefusedError("too_large")
    try:
        with transaction.atomic():
            move = IssueMove.objects.create(
                filename=word_of({"": filename[-255:]}, ""), site=site, requested_by_id=by
            )
    except IntegrityError:
        raise MoveRefusedError("already_running") from None
    store_pieces(file, IssueMovePiece, move=move)
    record_task("move_issues", by, move)
    return move


def site_address(site: str) -> str:
    """Return a site's address with https and without a trailing slash, or empty."""
    site = site.strip()
    address = site if not site or "://" in site else f"https://{site}"
    try:
        parts = urlsplit(address)
        is_web = parts.scheme in ("https", "http") and bool(parts.hostname) and "@" not in address
    except ValueError:
        is_web = False
    if site and (not is_web or len(address) > LONGEST_SITE):
        raise MoveRefusedError("site_invalid")
    return address.replace("\0", "").rstrip("/").replace("http://", "https://", 1)


def newest_move() -> IssueMove | None:
    """Load the newest move; None if there was none."""
    return IssueMove.objects.order_by("-pk").first()


def run_next_move(
    is_stopping: Callable[[], bool],
    make_opener: OpenerMaker = lambda: LinkOpener(NameServers()),
) -> bool:
    """Claim and run the next due move; False if nothing is due."""
    return run_next(IssueMove, partial(_work, make_opener=make_opener), is_stopping)


def _work(
    running: ClaimedTask[IssueMove],
    make_opener: OpenerMaker = lambda: LinkOpener(NameServers()),
) -> None:
    pieces = IssueMovePiece.objects.filter(move=running.task)
    with spooled(pieces, "homing-move-") as file:
        _run(running, file, make_opener())


def _costly(move: IssueMove) -> UnusableExportError:
    # `total` is 0 until the list of issues has been read.
    if move.total:
        return UnusableExportError("too_costly", detail=digits(move.done + 1))
    return UnusableExportError("list_costly")


PAST_ISSUES = separate_task("past_issues", IssueMove, _work, _costly)


def prepare(export: Export, past: PastIssue, take: Take) -> tuple[str, Content | None, bool]:
    """Return an issue's outcome, its content, and whether it lost an embedded player."""
    if is_known(export.product, past):
        return KNOWN, None, False
    try:
        if reason := past.refusal(timezone.now()):
            raise SkipIssueError(reason)
        if export.product is Product.HOMING and export.entries:
            return MOVED, check_content(own_content(export.entries, past, take)), False
        letter = export.letter_of(past)
        html, has_player = clean_letter(export.product, letter, take, past.slug)
        return MOVED, content_of(past, html), has_player
    except SkipIssueError as skipped:
        return skipped.reason.value, None, False


def _run(running: ClaimedTask[IssueMove], file: IO[bytes], opener: LinkOpener) -> None:
    move = running.task
    export = Export(file, move.site)
    running.heartbeat(product=export.product, total=len(export.issues))
    pictures = ImageCopier(export, opener, move.requested_by_id, running.heartbeat)
    for past in islice(export.issues, move.done, None):
        running.heartbeat()
        _move_one(running, export, past, pictures)
        reset_queries()
    running.end(TaskState.FINISHED)
    logger.info("move %d has ended: %s", move.pk, move.counts)


def _move_one(
    running: ClaimedTask[IssueMove], export: Export, past: PastIssue, pictures: ImageCopier
) -> None:
    move = running.task
    counts, notes = Counter(move.counts), list(move.notes)

    def note(code: str, detail: str = "") -> None:
        counts[code] += 1
        if code not in (MOVED, KNOWN) and len(notes) < MOST_NOTES:
            notes.append([code, (past.title or past.slug)[:200], detail[:500]])

    pictures.kept.clear()
    outcome, content, has_player = prepare(export, past, pictures.take)
    note(outcome)
    if content is not None:
        for address in pictures.kept:
            note(PICTURE_KEPT, address)
        if has_player:
            note(PLAYER_LEFT_OUT)
    with running.step():
        running.hold()
        if content is not None:
            issue = store_issue(export.product, past, content, by=move.requested_by_id)
            if past.slug and issue.slug != past.slug:
                note(OTHER_ADDRESS, issue.slug)
        running.checkpoint(counts=dict(counts), notes=notes, done=move.done + 1)


def key_of(product: Product, past: PastIssue) -> str:
    """Return the key that prevents a second move of an issue; empty if not needed."""
    if product is Product.HOMING:
        return past.moved_as  # The issue keeps its id, which already prevents a second move.
    return f"{product} {(past.key or past.slug)[:LONGEST_KEY]}"


def is_known(product: Product, past: PastIssue) -> bool:
    """Whether an earlier move brought this issue in, or the issue was published here."""
    if product is Product.HOMING and past.key and Issue.objects.filter(pk=past.key).exists():
        return True
    return MovedIssue.objects.filter(pk=key_of(product, past)).exists()


def content_of(past: PastIssue, html: str) -> Content:
    """Return the content of a cleaned letter. Raises `SkipIssueError`."""
    title = _one_line(past.title, TITLE.longest)
    text = html_to_text(html, settings.SITE_URL)
    subtitle = _one_line(past.subtitle, PREVIEW_TEXT.longest)
    return check_content(
        Content.from_input(title=title or "…", html=html, text=text, preview_text=subtitle)
    )


def check_content(content: Content) -> Content:
    """Return the content if it can be stored. Raises `SkipIssueError`."""
    # Unknown merge fields are accepted here, because readers see the fields' fallbacks.
    if any(problem.merge_field is None for problem in find_problems(content)):
        is_empty = not content.html.strip() and not content.text.strip()
        raise SkipIssueError(Skip.NO_LETTER if is_empty else Skip.TOO_LONG)
    return content


def store_issue(product: Product, past: PastIssue, content: Content, *, by: UUID | None) -> Issue:
    """Create an issue with its original date, in the caller's transaction."""
    at = past.published_at or Now()
    own_id = UUID(past.key) if product is Product.HOMING else None
    issue = save_moved_issue(content.plain_title, past.slug, product.value, own_id, past.visibility)
    if key := key_of(product, past):
        MovedIssue.objects.create(key=key, issue=issue)
    Edition.objects.create(
        issue=issue,
        version=1,
        kind=Edition.Kind.NEWSLETTER,
        goes_to=NOBODY,
        audience=0,
        author_id=by,
        published_at=at,
        held_until=at,
        archive_url=settings.SITE_URL + reverse("archive:issue", args=[issue.slug]),
        **edition_columns(content),
    )
    return issue


def _one_line(text: str, longest: int) -> str:
    # Braces in another product's text must not become merge fields of Homing.
    words = escape_braces(" ".join(text.split()))
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
