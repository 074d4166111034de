"""Check the context: readers, test letters, workers, other editions. Pure."""

from collections.abc import Iterator

from publishing.preflight.facts import Facts
from publishing.preflight.finding import Finding, FixIn, advice, passed


def check_context(facts: Facts) -> Iterator[Finding]:
    """Find everything that may change within an hour though the words stay the same."""
    if not facts.is_mailed:
        yield passed("archive_only", archive_note=facts.archive_note)
    elif not facts.readers:
        yield advice("no_readers", FixIn.READERS, archive_note=facts.archive_note)
    if facts.is_mailed:
        if facts.test:
            yield passed("test_sent", address=facts.test.address, at=facts.test.at)
        else:
            yield advice("no_test", FixIn.TEST)
    for other in facts.recent_duplicates:
        yield advice(
            "duplicate",
            FixIn.PROGRESS,
            issue=other.issue,
            same_words=other.has_the_same_words,
            is_scheduled=other.is_scheduled,
            at=other.at,
        )
    if not facts.recent_duplicates:
        yield passed("no_duplicate")
    for sentence in facts.overlap_warnings:
        yield advice("version_overlap", FixIn.PROGRESS, sentence=sentence)
    if facts.is_mailed:
        yield from _other_issues(facts)
        yield from _worker(facts)


def _other_issues(facts: Facts) -> Iterator[Finding]:
    for other in facts.other_issues:
        yield advice(
            "other_issue_sending",
            FixIn.PROGRESS,
            issue=other.issue,
            title=other.title,
            waiting=other.waiting,
        )


def _worker(facts: Facts) -> Iterator[Finding]:
    if facts.worker_is_running:
        yield passed("worker_running")
    elif facts.worker_seen_at:
        yield advice("worker_stopped", at=facts.worker_seen_at)
    else:
        yield advice("no_worker")
