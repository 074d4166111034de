"""What else is going on: readers, tests, workers, other editions. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from delivery.humanise import counted_copies
from delivery.rules.edition_counts import ARCHIVE_ONLY
from publishing.preflight.facts import Facts, Published
from publishing.preflight.finding import Finding, Where, advice, in_order


def of_the_moment(facts: Facts) -> Iterator[Finding]:
    """Everything that may be otherwise an hour later with the same words."""
    if not facts.is_mailed:
        yield in_order(f"{ARCHIVE_ONLY} {facts.would_stand}")
        yield from _the_same_lately(facts)
        for sentence in facts.earlier_versions_going:
            yield advice(sentence, where=Where.PROGRESS)
        return
    if not facts.readers:
        yield advice(
            "This issue would go to nobody",
            f"No reader is confirmed, of those it is meant for. {facts.would_stand}",
            Where.READERS,
        )
    yield from _test(facts)
    yield from _the_same_lately(facts)
    for sentence in facts.earlier_versions_going:
        yield advice(sentence, where=Where.PROGRESS)
    yield from _others(facts.going)
    yield from _worker(facts)


def _test(facts: Facts) -> Iterator[Finding]:
    if facts.test:
        at = facts.clock(facts.test.at)
        yield in_order(f"A test was sent to {facts.test.address} at {at}.")
    else:
        yield advice(
            "No test of these words was sent",
            "A test letter shows in a real mailbox what readers will see.",
            Where.TEST,
        )


def _the_same_lately(facts: Facts) -> Iterator[Finding]:
    for earlier in facts.same_lately:
        is_words, when = earlier.has_the_same_words, facts.clock(earlier.at)
        same = "These very words" if is_words else "This very title"
        was, is_ = ("were", "are") if is_words else ("was", "is")
        yield advice(
            f"{same} {is_} scheduled for {when}"
            if earlier.is_scheduled
            else f"{same} {was} published at {when}",
            "As another issue. Publishing this makes a second one, and readers get both.",
            Where.PROGRESS,
            subject=earlier.issue,
        )
    if not facts.same_lately:
        yield in_order("Nothing like this was published in the last seven days.")


def _others(going: tuple[Published, ...]) -> Iterator[Finding]:
    for other in going:
        wait = "waits" if other.waiting == 1 else "wait"
        yield advice(
            f"“{other.title}” is still going out",
            f"{counted_copies(other.waiting)} {wait}. The two take turns, and neither waits for "
            "the other's end.",
            Where.PROGRESS,
            subject=other.issue,
        )


def _worker(facts: Facts) -> Iterator[Finding]:
    if facts.worker_is_there:
        yield in_order("A worker is there to send it.")
        return
    heard = (
        f"The last one was heard from at {facts.clock(facts.worker_heard_at)}. "
        if facts.worker_heard_at
        else ""
    )
    yield advice(
        "No worker is running",
        f"{heard}The issue would be accepted and wait. Start one with ./homing deliver.",
    )
