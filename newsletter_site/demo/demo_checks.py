"""Compare the results of the demo with what Homing promises. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from delivery.models import Delivery
from delivery.rules.edition_state import EditionState
from newsletter_site.demo.demo_browser import Post
from publishing.editions.edition_status import EditionStatus
from subscribers.importing.import_file import ImportReport


@dataclass(frozen=True, slots=True)
class Observed:
    """The results for the demo's issue.

    `deliveries` are the rows in Homing's database and `copies` the mails in the sandbox; both are
    dicts with delivery keys. `mailable` is how many of the `total` readers were confirmed before
    publishing. `links` are the HTTP statuses of the pages that a mail links to.
    """

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
        """Count deliveries that are sent and have exactly one copy in the sandbox."""
        rows = self.deliveries.items()
        return sum(row.outcome == "sent" and self.copies.get(key) == 1 for key, row in rows)


def broken_promises(observed: Observed) -> Iterator[str]:
    """Yield a sentence for each broken promise."""
    first, second = observed.posts
    if not first.status == second.status == 303:
        found = f"{first.status} and {second.status}"
        yield f"The two posts were answered {found} instead of 303 and 303."
    elif first.location != second.location:
        yield f"The two posts lead to different pages: {first.location} and {second.location}."
    if observed.editions != 1:
        yield f"The two posts created {observed.editions} editions instead of 1."
    audience, mailable = observed.status.counts.audience, observed.mailable
    if audience != mailable:
        yield f"The audience is {audience:,}, but {mailable:,} readers were confirmed."
    for link, status in observed.links.items():
        if status != 200:
            yield f"The link {link} in a mail answers {status} instead of 200."
    if observed.status.state is not EditionState.SUCCEEDED:
        yield f"The edition ended as “{observed.status.words}”. {observed.status.reason()}".rstrip()
    yield from observed.violations
    deliveries, copies = observed.deliveries.keys(), observed.copies
    sent = {key for key, row in observed.deliveries.items() if row.outcome == "sent"}
    problems = {
        "Deliveries sent without a copy": len(sent - copies.keys()),
        "Deliveries with more than one copy": sum(number > 1 for number in copies.values()),
        "Deliveries not sent, but with a copy": len(copies.keys() & (deliveries - sent)),
        "Copies without a delivery": len(copies.keys() - deliveries),
        "Addresses with two copies of one edition": observed.readers_with_two,
    }
    for problem, number in problems.items():
        if number:
            yield f"{problem}: {number:,}."
