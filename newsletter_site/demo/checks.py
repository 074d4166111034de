"""Compare what Homing promises with what happened. Pure: values in, sentences out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from delivery.models import Delivery
from delivery.rules.edition_state import EditionState
from newsletter_site.demo.browser import Post
from publishing.editions.status import EditionStatus
from subscribers.importing.import_file import ImportReport


@dataclass(frozen=True, slots=True)
class Observed:
    """What happened to the demo's issue. `deliveries` (ours) and `copies` (the sandbox's) are by
    delivery key, `mailable` are the confirmed readers before publishing of the `total`, `links` the
    statuses of pages that a mail links to."""

    imported: ImportReport
    total: int
    posts: tuple[Post, Post]
    mailable: int
    editions: int
    status: EditionStatus
    violations: Sequence[str]
    deliveries: Mapping[str, Delivery]
    copies: Mapping[str, int]
    readers_with_two: int
    links: Mapping[str, int]

    @property
    def exactly_once(self) -> int:
        """How many deliveries are sent and have one copy in the sandbox."""
        rows = self.deliveries.items()
        return sum(row.outcome == "sent" and self.copies.get(key) == 1 for key, row in rows)


def broken_promises(observed: Observed) -> Iterator[str]:
    """Yield a sentence for each broken promise."""
    first, second = observed.posts
    if not first.statuses[-1] == second.statuses[-1] == 303:
        statuses = f"{first.statuses[-1]} and {second.statuses[-1]}"
        yield f"The two posts were answered {statuses}; both should be 303."
    elif first.location != second.location:
        yield f"The two posts lead to {first.location} and {second.location}, not to one page."
    if observed.editions != 1:
        yield f"The two posts made {observed.editions} editions instead of one."
    audience, mailable = observed.status.counts.audience, observed.mailable
    if audience != mailable:
        yield f"The audience is {audience:,}, but {mailable:,} readers were confirmed."
    for link, status in observed.links.items():
        if status != 200:
            yield f"The link {link} of a mail answers {status} instead of 200."
    if observed.status.state is not EditionState.SUCCEEDED:
        yield f"The edition ended as “{observed.status.words}”. {observed.status.reason()}".rstrip()
    yield from observed.violations
    deliveries, copies = observed.deliveries.keys(), observed.copies
    sent = {key for key, row in observed.deliveries.items() if row.outcome == "sent"}
    problems = {
        "Deliveries that are sent and have no copy": len(sent - copies.keys()),
        "Deliveries with more than one copy": sum(number > 1 for number in copies.values()),
        "Deliveries that are not sent and have a copy": len(copies.keys() & (deliveries - sent)),
        "Copies without a delivery": len(copies.keys() - deliveries),
        "Addresses that have two copies of one edition": observed.readers_with_two,
    }
    for problem, number in problems.items():
        if number:
            yield f"{problem}: {number:,}."
