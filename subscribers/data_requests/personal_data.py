"""
What is held about a person, as a value: the only place that gathers it.

The page that shows it, the file that the person takes away and the desk all read this one value, so
none of them can leave out what another shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db.models import Q

from delivery.interface import load_provider_suppressions, load_suppression_changes, sent_to
from delivery.mail.merge_fields import FieldTemplate
from delivery.mail.test_letter import TEST_ISSUE, TEST_RECIPIENT, mark_subject
from delivery.models import Delivery, Edition, Newsletter
from delivery.retention.provider_event_details import load_events_about
from subscribers.models import Bounce, ConsentRecord, Subscriber, Suppression


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the ledger of consent."""

    at: datetime
    act: str
    how: str
    network: str
    name: str
    wording: str
    file: str
    detail: str


@dataclass(frozen=True, slots=True)
class CopyHeld:
    """One mail that was made for them: a letter, or one that they asked for."""

    title: str
    version: int
    kind: str
    published_at: datetime
    outcome: str
    sent_at: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class BounceHeld:
    """Mail that came back, or that they called spam."""

    at: datetime
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class ShutOut:
    """Why the address is not mailed, whoever it belongs to."""

    reason: str
    origin: str
    at: datetime
    lifted_at: datetime | None


@dataclass(frozen=True, slots=True)
class Told:
    """Something that the mail provider told about the address, as it came."""

    at: datetime
    kind: str
    body: str


@dataclass(frozen=True, slots=True)
class Asked:
    """Something that the mail provider was asked to do about the address, and what it said."""

    at: datetime
    change: str
    state: str
    said: str


@dataclass(frozen=True, slots=True)
class ProvidersWord:
    """What the provider's own list of a stream says of the address."""

    stream: str
    refuses: bool
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Record:
    """
    Everything that is held about one person. Lists are in the order of time, oldest first.

    Of `letters_not_known` older letters that went out while they were known here it is not kept any
    more who got them.
    """

    id: int
    address: str
    name: str
    state: str
    since: datetime
    known_since: datetime
    came_by: str
    file: str
    ledger: Sequence[Line]
    copies: Sequence[CopyHeld]
    letters_not_known: int
    bounces: Sequence[BounceHeld]
    shut_out: ShutOut | None
    provider_says: Sequence[ProvidersWord]
    provider_asked: Sequence[Asked]
    provider_told: Sequence[Told]

    def as_json(self) -> bytes:
        """The same, for another program or for keeping; indented, so that a person can read it."""
        return orjson.dumps(self._facts(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def _facts(self) -> Mapping[str, Any]:
        facts = asdict(self)
        del facts["id"]
        return facts


def record_of(subscriber_id: int) -> Record | None:
    """What is held about this person; None if nobody by this id is held."""
    reader = Subscriber.objects.select_related("subscriber_import").filter(id=subscriber_id).first()
    if reader is None:
        return None
    brought = reader.subscriber_import
    return Record(
        id=reader.pk,
        address=reader.email,
        name=reader.name,
        state=reader.state,
        since=reader.since,
        known_since=reader.created_at,
        came_by=reader.source,
        file=brought.filename if brought else "",
        ledger=_ledger_of(reader),
        copies=_copies_for(reader),
        letters_not_known=Edition.objects.filter(
            copies_dropped_at__isnull=False, published_at__gte=reader.created_at
        ).count(),
        bounces=[
            BounceHeld(bounce.at, bounce.type, bounce.description)
            for bounce in Bounce.objects.filter(subscriber=reader).order_by("at", "id")
        ],
        shut_out=_shut_out(reader),
        provider_says=[
            ProvidersWord(word.stream, word.refuses, word.reason, word.at)
            for word in load_provider_suppressions(reader.email)
        ],
        provider_asked=[
            Asked(change.asked_at, change.change, change.state, change.said)
            for change in reversed(load_suppression_changes(reader.email))
        ],
        provider_told=[
            Told(event["received_at"], event["kind"], event["body"])
            for event in load_events_about(reader.email)
        ],
    )


def _ledger_of(reader: Subscriber) -> list[Line]:
    lines = (
        ConsentRecord.objects.filter(subscriber=reader)
        .select_related("wording", "subscriber_import")
        .order_by("id")
    )
    return [
        Line(
            at=line.at,
            act=line.act,
            how=line.how,
            network=line.network,
            name=line.name,
            wording=line.wording.text if line.wording else "",
            file=line.subscriber_import.filename if line.subscriber_import else "",
            detail=line.detail,
        )
        for line in lines
    ]


def _copies_for(reader: Subscriber) -> list[CopyHeld]:
    """By the primary key, one look for each issue there is: copies are not indexed by reader."""
    editions = {
        (edition.issue_id, edition.version): edition
        for edition in Edition.objects.only("issue_id", "version", "kind", "title", "published_at")
    }
    issues = list({issue for issue, _ in editions})
    # Test letters went to their address, and to nobody by their number.
    tests = Q(issue=TEST_ISSUE, recipient=TEST_RECIPIENT, version__in=sent_to(reader.email_key))
    copies = Delivery.objects.filter(Q(issue__in=issues, recipient=reader.pk) | tests)
    values = {"name": reader.name, "email": reader.email, "newsletter": _newsletter_name()}
    held = []
    for copy in copies:
        edition = editions.get((copy.issue_id, copy.version))
        if edition is None:
            continue
        held.append(
            CopyHeld(
                title=FieldTemplate(
                    mark_subject(edition.title)
                    if edition.kind == Edition.Kind.TEST
                    else edition.title,
                    html=False,
                ).fill(values),
                version=edition.version,
                kind=edition.kind,
                published_at=edition.published_at,
                outcome=copy.outcome,
                sent_at=copy.sent_at,
                reason=copy.reason or "",
            )
        )
    return sorted(held, key=lambda copy: (copy.published_at, copy.version))


def _newsletter_name() -> str:
    return Newsletter.objects.the_one().name


def _shut_out(reader: Subscriber) -> ShutOut | None:
    shut = Suppression.objects.filter(address_key=reader.email_key).first()
    return ShutOut(shut.reason, shut.origin, shut.at, shut.lifted_at) if shut else None
