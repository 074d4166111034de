"""The personal data of a reader, for pages, files and API calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import orjson
from django.db.models import F, Q
from django.http import HttpResponse

from delivery.interface import reason_sentence, test_letters_to
from delivery.mail.mark_test_letter import TEST_ISSUE, TEST_RECIPIENT, mark_subject
from delivery.mail.merge_fields import FieldTemplate
from delivery.mail.transactional_mail_texts import ISSUE_BY_KIND
from delivery.models import Delivery, Edition, Newsletter, ProviderSuppression, SuppressionChange
from delivery.reader_fields import FIELD_NAMES
from delivery.retention.anonymise import load_events_about
from subscribers.data_requests.rejected_rows import load_rejected_rows
from subscribers.fields.own_fields import load_own_fields
from subscribers.links.token_page import protect_token_page
from subscribers.models import Bounce, ConsentRecord, Subscriber, Suppression, Tag
from subscribers.models.consent_record import Act

# In the JSON, these attributes of `PersonalData` have other names, on which programs rely.
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

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PersonalData:
    """The personal data of one reader; lists begin with the oldest entry."""

    id: int
    address: str
    values: Mapping[str, str]
    fields: Mapping[str, str]  # values of the author's own fields, by key
    field_labels: Mapping[str, str]
    topics: Sequence[str]
    tags: Sequence[str]
    left_topics: Sequence[str]
    state: str
    since: datetime
    known_since: datetime
    source: str
    file: str
    consent: Sequence[Entry]
    mails: Sequence[Entry]
    mails_not_known: int
    bounces: Sequence[Entry]
    suppression: Entry | None
    provider_suppressions: Sequence[Entry]
    provider_requests: Sequence[Entry]
    provider_events: Sequence[Entry]
    rejected_rows: Sequence[Entry]

    def as_json(self) -> bytes:
        """Return the data as indented JSON."""
        entries: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "values":
                entries.update(value)
            elif field.name not in ("id", "field_labels"):
                entries[_KEYS.get(field.name, field.name)] = value
        return orjson.dumps(entries, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def as_file(self) -> HttpResponse:
        """Return the data as a download that no cache keeps."""
        file = HttpResponse(self.as_json(), content_type="application/json")
        file["Content-Disposition"] = 'attachment; filename="record.json"'
        return protect_token_page(file)


def load_personal_data(subscriber_id: int) -> PersonalData | None:
    """Load the data of this reader; None if no reader has this id."""
    reader = Subscriber.objects.select_related("subscriber_import").filter(id=subscriber_id).first()
    if reader is None:
        return None
    key = reader.email_key
    suppressions = Suppression.objects.filter(address_key=key)
    bounces = Bounce.objects.filter(subscriber=reader).order_by("at", "id")
    dropped = Edition.objects.filter(
        deliveries_dropped_at__isnull=False, published_at__gte=reader.created_at
    )
    topics, tags, left_topics = _load_tags(reader)
    return PersonalData(
        id=reader.pk,
        address=reader.email,
        values=_columns(reader),
        fields=reader.fields,
        field_labels={field.name: str(field.label) for field in load_own_fields()},
        topics=topics,
        tags=tags,
        left_topics=left_topics,
        state=reader.state,
        since=reader.since,
        known_since=reader.created_at,
        source=reader.source,
        file=reader.subscriber_import.filename if reader.subscriber_import else "",
        consent=_load_consent(reader),
        mails=_load_mails(reader),
        mails_not_known=dropped.count(),
        bounces=list(bounces.values("at", "type", "description")),
        suppression=suppressions.values("reason", "origin", "at", "lifted_at").first(),
        provider_suppressions=list(
            ProviderSuppression.objects.filter(address_key=key)
            .order_by("stream")
            .values("stream", "refuses", "reason", "origin", "at")
        ),
        provider_requests=list(
            SuppressionChange.objects.filter(address_key=key)
            .order_by("id")
            .values("stream", "change", "state", at=F("requested_at"), said=F("refusal_reason"))
        ),
        provider_events=[
            {"at": event["received_at"], "kind": event["kind"], "body": event["body"]}
            for event in load_events_about(reader.email)
        ],
        rejected_rows=load_rejected_rows(key),
    )


def _columns(row: Subscriber | ConsentRecord) -> dict[str, str]:
    return {name: getattr(row, name) for name in FIELD_NAMES}


def _load_tags(reader: Subscriber) -> tuple[list[str], list[str], list[str]]:
    """Load three lists of names: a reader's topics, other tags, and former topics."""
    tags = Tag.objects.filter(id__in=[*reader.tags, *reader.left_topics]).order_by("name")
    topics: list[str] = []
    others: list[str] = []
    left_topics: list[str] = []
    for tag in tags:
        names = left_topics if tag.pk in reader.left_topics else topics if tag.is_topic else others
        names.append(tag.name)
    return topics, others, left_topics


def _load_consent(reader: Subscriber) -> list[Entry]:
    names = dict(Tag.objects.values_list("id", "name"))
    records = ConsentRecord.objects.filter(subscriber=reader).order_by("id")
    return [
        {
            **{key: getattr(record, key) for key in ("at", "act", "how", "network")},
            **_columns(record),
            "fields": record.fields,
            "tags": [names[tag] for tag in record.tags if tag in names],
            "wording": record.wording.text if record.wording else "",
            "file": record.subscriber_import.filename if record.subscriber_import else "",
            "detail": record.detail,
        }
        for record in records.select_related("wording", "subscriber_import")
    ]


# For kinds of mail with one edition for many readers: the acts of consent that request the mail.
_REQUESTS = {
    Edition.Kind.CONFIRMATION: [Act.ASKED, Act.IMPORTED],
    Edition.Kind.RECORD: [Act.RECORD_ASKED],
    Edition.Kind.WELCOME: [Act.CONFIRMED],
}


def time_of_mail(mail: Entry) -> datetime:
    """Return when the provider accepted a mail, or else when the mail was published."""
    accepted_at = mail["sent_at"] if mail["outcome"] == "sent" else None
    at: datetime = accepted_at or mail["published_at"]
    return at


def _load_mails(reader: Subscriber) -> list[Entry]:
    """Load a reader's mails from their deliveries.

    Look up deliveries by their primary key (issue and recipient), because no index of deliveries
    begins with the recipient.
    """
    editions = {
        (edition.issue_id, edition.version): edition
        for edition in Edition.objects.only(
            *("issue_id", "version", "kind", "title", "published_at", "merge_fields")
        )
    }
    issues = list({issue for issue, _ in editions})
    # The delivery of a test letter has no reader's id, only an address.
    tests = Q(
        issue=TEST_ISSUE, recipient=TEST_RECIPIENT, version__in=test_letters_to(reader.email_key)
    )
    newsletter = Newsletter.objects.get_current().name
    records = ConsentRecord.objects.filter(subscriber=reader)
    requested_at = {
        (str(kind), record.request): record.at
        for kind, acts in _REQUESTS.items()
        for record in records.filter(act__in=acts)
        if record.request
    }
    mails = []
    for delivery in Delivery.objects.filter(Q(issue__in=issues, recipient=reader.pk) | tests):
        edition = editions.get((delivery.issue_id, delivery.version))
        if edition is None:
            continue
        at = edition.published_at
        if edition.kind in _REQUESTS:
            # Many readers share this edition, so the edition's time is not the time of this
            # reader's request.
            at = requested_at.get((edition.kind, edition.version), reader.created_at)
        is_test = edition.kind == Edition.Kind.TEST
        title = mark_subject(edition.title) if is_test else edition.title
        # `frozen` has the values that were stored when the issue was published. In `values`, an
        # author's own field never replaces a built-in field.
        frozen = dict(zip(edition.merge_fields, delivery.fields or (), strict=False))
        values = {**reader.fields, **frozen, **_columns(reader), "email": reader.email}
        if edition.kind in ISSUE_BY_KIND:
            values["newsletter"] = newsletter
        mails.append(
            {
                "title": FieldTemplate(title, html=False).fill(values),
                "version": edition.version,
                "kind": edition.kind,
                "published_at": at,
                "outcome": delivery.outcome,
                "sent_at": delivery.sent_at,
                "reason": reason_sentence(delivery.reason),
                "reason_code": delivery.reason.code if delivery.reason else "",
            }
        )
    return sorted(mails, key=lambda mail: (time_of_mail(mail), mail["version"]))
