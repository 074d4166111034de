"""
The personal data that is held about a reader, as one value.

The reader's page, the file they download, the desk and the API all read this value, so none of them
can leave out what another shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import orjson
from django.db.models import Q
from django.http import HttpResponse

from delivery.interface import (
    load_provider_suppressions,
    load_suppression_changes,
    reason_sentence,
    sent_to,
)
from delivery.mail.merge_fields import FieldTemplate
from delivery.mail.test_letter import TEST_ISSUE, TEST_RECIPIENT, mark_subject
from delivery.models import Delivery, Edition, Newsletter
from delivery.retention.provider_event_details import load_events_about
from subscribers.links.token_page import protect_token_page
from subscribers.models import Bounce, ConsentRecord, Subscriber, Suppression

# Keys of the file that differ from the attributes below; its readers rely on them.
_KEYS = {
    "source": "came_by",
    "consent": "ledger",
    "mails": "copies",
    "mails_not_known": "letters_not_known",
    "suppression": "shut_out",
    "provider_suppressions": "provider_says",
    "provider_requests": "provider_asked",
    "provider_events": "provider_told",
}


@dataclass(frozen=True, slots=True)
class ConsentEntry:
    """One record of consent."""

    at: datetime
    act: str
    how: str
    network: str
    values: Mapping[str, str]
    wording: str
    file: str
    detail: str


@dataclass(frozen=True, slots=True)
class MailEntry:
    """One mail that was made for them: a letter, or one that they asked for."""

    title: str
    version: int
    kind: str
    published_at: datetime
    outcome: str
    sent_at: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class BounceEntry:
    """Mail that came back, or that they called spam."""

    at: datetime
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class SuppressionEntry:
    """Why the address is not mailed, whoever it belongs to."""

    reason: str
    origin: str
    at: datetime
    lifted_at: datetime | None


@dataclass(frozen=True, slots=True)
class ProviderEvent:
    """An event that the mail provider reported about the address, as it came."""

    at: datetime
    kind: str
    body: str


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A change that the mail provider was asked for, and what it answered."""

    at: datetime
    change: str
    state: str
    said: str


@dataclass(frozen=True, slots=True)
class ProviderSuppression:
    """What the provider's own list of a stream says of the address."""

    stream: str
    refuses: bool
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PersonalData:
    """
    Everything that is held about one reader. Lists are in the order of time, oldest first.

    `mails_not_known` counts letters since they came whose recipients are not kept any more.
    """

    id: int
    address: str
    values: Mapping[str, str]
    state: str
    since: datetime
    known_since: datetime
    source: str
    file: str
    consent: Sequence[ConsentEntry]
    mails: Sequence[MailEntry]
    mails_not_known: int
    bounces: Sequence[BounceEntry]
    suppression: SuppressionEntry | None
    provider_suppressions: Sequence[ProviderSuppression]
    provider_requests: Sequence[ProviderRequest]
    provider_events: Sequence[ProviderEvent]

    def as_json(self) -> bytes:
        """The same for another program or for keeping, indented for human readers."""
        facts = asdict(self)
        del facts["id"]
        facts["consent"] = list(map(_with_fields, facts["consent"]))
        facts = {_KEYS.get(key, key): value for key, value in _with_fields(facts).items()}
        return orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def as_file(self) -> HttpResponse:
        """The same as a file that a browser saves; no cache keeps it."""
        file = HttpResponse(self.as_json(), content_type="application/json")
        file["Content-Disposition"] = 'attachment; filename="record.json"'
        return protect_token_page(file)


def load_personal_data(subscriber_id: int) -> PersonalData | None:
    """Load what is held about this reader; None if there is none with this id."""
    reader = Subscriber.objects.select_related("subscriber_import").filter(id=subscriber_id).first()
    if reader is None:
        return None
    return PersonalData(
        id=reader.pk,
        address=reader.email,
        values=reader.values_of_fields,
        state=reader.state,
        since=reader.since,
        known_since=reader.created_at,
        source=reader.source,
        file=reader.subscriber_import.filename if reader.subscriber_import else "",
        consent=_load_consent(reader),
        mails=_load_mails(reader),
        mails_not_known=Edition.objects.filter(
            copies_dropped_at__isnull=False, published_at__gte=reader.created_at
        ).count(),
        bounces=[
            BounceEntry(bounce.at, bounce.type, bounce.description)
            for bounce in Bounce.objects.filter(subscriber=reader).order_by("at", "id")
        ],
        suppression=_load_suppression(reader),
        provider_suppressions=[
            ProviderSuppression(entry.stream, entry.refuses, entry.reason, entry.at)
            for entry in load_provider_suppressions(reader.email)
        ],
        provider_requests=[
            ProviderRequest(change.asked_at, change.change, change.state, change.said)
            for change in reversed(load_suppression_changes(reader.email))
        ],
        provider_events=[
            ProviderEvent(event["received_at"], event["kind"], event["body"])
            for event in load_events_about(reader.email)
        ],
    )


def _load_suppression(reader: Subscriber) -> SuppressionEntry | None:
    found = Suppression.objects.filter(address_key=reader.email_key).first()
    if found is None:
        return None
    return SuppressionEntry(found.reason, found.origin, found.at, found.lifted_at)


def _with_fields(facts: Mapping[str, object]) -> dict[str, object]:
    """The reader's fields beside the other keys, and not below one of their own."""
    flat: dict[str, object] = {}
    for key, value in facts.items():
        if key == "values" and isinstance(value, Mapping):
            flat.update(value)
        else:
            flat[key] = value
    return flat


def _load_consent(reader: Subscriber) -> list[ConsentEntry]:
    records = (
        ConsentRecord.objects.filter(subscriber=reader)
        .select_related("wording", "subscriber_import")
        .order_by("id")
    )
    return [
        ConsentEntry(
            at=record.at,
            act=record.act,
            how=record.how,
            network=record.network,
            values=record.values_of_fields,
            wording=record.wording.text if record.wording else "",
            file=record.subscriber_import.filename if record.subscriber_import else "",
            detail=record.detail,
        )
        for record in records
    ]


def _load_mails(reader: Subscriber) -> list[MailEntry]:
    """By the primary key, one look for each issue: deliveries are not indexed by reader."""
    editions = {
        (edition.issue_id, edition.version): edition
        for edition in Edition.objects.only("issue_id", "version", "kind", "title", "published_at")
    }
    issues = list({issue for issue, _ in editions})
    # Test letters went to the address, and to no reader's number.
    tests = Q(issue=TEST_ISSUE, recipient=TEST_RECIPIENT, version__in=sent_to(reader.email_key))
    newsletter = Newsletter.objects.the_one().name
    values = {**reader.values_of_fields, "email": reader.email, "newsletter": newsletter}
    mails = []
    for delivery in Delivery.objects.filter(Q(issue__in=issues, recipient=reader.pk) | tests):
        edition = editions.get((delivery.issue_id, delivery.version))
        if edition is None:
            continue
        is_test = edition.kind == Edition.Kind.TEST
        title = mark_subject(edition.title) if is_test else edition.title
        mails.append(
            MailEntry(
                title=FieldTemplate(title, html=False).fill(values),
                version=edition.version,
                kind=edition.kind,
                published_at=edition.published_at,
                outcome=delivery.outcome,
                sent_at=delivery.sent_at,
                reason=reason_sentence(delivery.reason),
            )
        )
    return sorted(mails, key=lambda mail: (mail.published_at, mail.version))
