"""
Check the context of the letter: readers, test letters, workers, other editions.

Pure.
"""

from collections.abc import Iterator

from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FixIn, advice, passed


def check_readiness(context: CheckContext) -> Iterator[Finding]:
    """Find everything that may change within an hour although the letter does not."""
    if not context.is_mailed:
        yield passed("archive_only", archive_note=context.archive_note)
    elif not context.readers:
        yield advice("no_readers", FixIn.READERS, archive_note=context.archive_note)
    if context.is_mailed:
        if context.test:
            address, at = context.test
            yield passed("test_sent", address=address, at=at)
        else:
            yield advice("no_test", FixIn.TEST)
    for other in context.recent_duplicates:
        yield advice("duplicate", FixIn.PROGRESS, **other)
    if not context.recent_duplicates:
        yield passed("no_duplicate")
    for sentence in context.overlap_warnings:
        yield advice("version_overlap", FixIn.PROGRESS, sentence=sentence)
    if context.is_mailed:
        for other in context.other_issues:
            yield advice("other_issue_sending", FixIn.PROGRESS, **other)
        yield from _worker(context)


def _worker(context: CheckContext) -> Iterator[Finding]:
    if context.worker_is_running:
        yield passed("worker_running")
    elif context.worker_seen_at:
        yield advice("worker_stopped", at=context.worker_seen_at)
    else:
        yield advice("no_worker")
