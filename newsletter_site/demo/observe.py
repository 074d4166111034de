"""Asks ledger, sandbox and site what came of the publishing, so that it can be judged."""

from __future__ import annotations

from delivery.models import Delivery, Edition
from delivery.rules.delivery_key import DeliveryKey
from newsletter_site.demo.checks import Entry, Happened
from newsletter_site.demo.posting_twice import FORM, PostedTwice
from newsletter_site.demo.sandbox import Sandbox
from newsletter_site.demo.services import Stage
from newsletter_site.demo.summary import Addresses
from publishing.editions.status import load_status

# The first reader of the file. Whoever tried her unsubscribe link sees somebody else next time.
A_READER = "edith.marlow@posthouse.example.net"


def addresses_of(stage: Stage, edition: Edition) -> Addresses:
    """Where a person finds this edition, and one mail of it with its unsubscribe link."""
    mail = stage.sandbox.newest_mail(A_READER) or stage.sandbox.newest_mail()
    site, inbox = stage.site_url, f"{stage.sandbox.url}/"
    return Addresses(
        write=f"{site}{FORM}write/",
        progress=f"{site}{FORM}{edition.issue_id}/",
        front=f"{site}/",
        archive=edition.archive_url,
        inbox=inbox,
        mail=f"{inbox}?message={mail.id}" if mail else "",
        unsubscribe=mail.unsubscribe_url if mail else "",
    )


def what_happened(
    stage: Stage,
    posted: PostedTwice,
    edition: Edition,
    addresses: Addresses,
    *,
    mailable: int,
    editions_made: int,
) -> Happened:
    """All that the promises are about, asked of those who know it."""
    status = load_status(edition.pk)
    links = [link for link in (addresses.archive, addresses.unsubscribe) if link]
    return Happened(
        posted=posted,
        mailable=mailable,
        editions_made=editions_made,
        books=status.books,
        state=status.words,
        reason=status.reason,
        ledger=_ledger_of(edition),
        copies=_copies_of(edition, stage.sandbox),
        readers_with_two=stage.sandbox.readers_with_two(),
        links={link: stage.browser.open(link).status for link in links},
    )


def _ledger_of(edition: Edition) -> dict[str, Entry]:
    """Every delivery of the edition by its key."""
    rows = Delivery.objects.filter(issue_id=edition.issue_id, version=edition.version)
    return {
        str(DeliveryKey(edition.issue_id, edition.version, recipient)): Entry(
            address, outcome, reason or ""
        )
        for recipient, address, outcome, reason in rows.values_list(
            "recipient_id", "address", "outcome", "reason"
        )
    }


def _copies_of(edition: Edition, sandbox: Sandbox) -> dict[str, int]:
    """The copies of this edition. An earlier run that was killed may have left some of its own."""
    start = f"{edition.issue_id.hex}."
    return {key: size for key, size in sandbox.copies().items() if key.startswith(start)}
