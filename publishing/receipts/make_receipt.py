"""Make, sign, parse and compare receipts.

A receipt states how many deliveries an edition has, by outcome. A database trigger refuses changes
of a receipt.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Max, Min, Q
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from delivery.humanise import digits
from delivery.models import Attempt, Delivery, Edition
from delivery.models.attempt import NO_BATCH
from publishing.display_name import named
from publishing.editions.edition_status import EditionStatus, load_status
from publishing.models import Receipt
from publishing.progress.edition_progress import counts_of, is_at_rest
from publishing.progress_bar import ORDER

FORMAT = 1
CHUNK = 10_000
SALT = "homing.receipt"
LONGEST = 20_000


class NotAReceiptError(ValueError):
    """The given text is not a receipt; the message says why."""


class NoReceiptError(Exception):
    """The edition has no receipt; the message says why."""


def receipt_refusal(edition: Edition, status: EditionStatus) -> str:
    """Return why an edition cannot have a receipt now; empty if it can have one."""
    if edition.kind != Edition.Kind.NEWSLETTER:
        return _("Transactional mail has no end, so there is no receipt for it.")
    if not is_at_rest(status):
        return _(
            "There is no receipt yet. It is made when every copy is settled or the issue is closed "
            "or cancelled. The state is now “{state}”."
        ).format(state=status.words)
    return ""


def receipt_of(edition: Edition) -> Receipt:
    """Return the receipt of an edition, and make the receipt if there is none.

    Raises `NoReceiptError`.
    """
    return Receipt.objects.filter(edition=edition.pk).first() or _make_receipt(edition)


def receipt_today(edition: Edition) -> dict[str, Any] | None:
    """Return the fields of a receipt made today; None if the deliveries were dropped."""
    with _snapshot(edition) as status:
        if status.counts.deliveries_dropped_at is not None:
            return None
        return _receipt_fields(edition, status, _recount(edition))


def _make_receipt(edition: Edition) -> Receipt:
    with _snapshot(edition) as status:
        refusal = receipt_refusal(edition, status)
        if refusal:
            raise NoReceiptError(refusal)
        if status.counts.deliveries_dropped_at is not None:
            raise NoReceiptError(_("There is no receipt, and the copies were deleted."))
        fields = _receipt_fields(edition, status, _recount_and_compare(edition, status))
    # Insert the receipt only now: the transaction of the snapshot is read-only, and cannot see the
    # receipt of a concurrent caller.
    Receipt.objects.bulk_create([sign_receipt(fields, edition)], ignore_conflicts=True)
    return Receipt.objects.get(edition=edition.pk)


def recount_before_dropping(edition: Edition) -> None:
    """Count an edition's deliveries one last time, before they are dropped.

    Raises `NoReceiptError` if the result differs from the stored counts.
    """
    with _snapshot(edition) as status:
        if status.counts.deliveries_dropped_at is None:
            _recount_and_compare(edition, status)


def _recount_and_compare(edition: Edition, status: EditionStatus) -> dict[str, Any]:
    recount = _recount(edition)
    if any(recount["outcomes"][name] != count for name, count in counts_of(status.counts).items()):
        raise NoReceiptError(
            _(
                "The rows and the counts of this issue differ, so there can be no receipt. Run "
                "./homing audit {issue} to see where they differ."
            ).format(issue=edition.issue_id)
        )
    return recount


@contextmanager
def _snapshot(edition: Edition) -> Iterator[EditionStatus]:
    """Yield an edition's status; the `with` block reads all rows as of one moment."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield load_status(edition.pk)


def _receipt_fields(
    edition: Edition, status: EditionStatus, recount: dict[str, Any]
) -> dict[str, Any]:
    counts = status.counts
    return {
        "format": FORMAT,
        "issue": str(edition.issue_id),
        "version": edition.version,
        "title": edition.title,
        "state": status.state.value,
        "content_sha256": bytes(edition.content_hash).hex(),
        "audience_sha256": recount["audience"],
        "counts": {
            "audience": counts.audience,
            **{name: recount["outcomes"][name] for name in ORDER},
        },
        "message_ids": recount["message_ids"],
        "published_at": _time(edition.published_at),
        "first_copy_at": _time(recount["first"]),
        "last_copy_at": _time(recount["last"]),
        "ended_at": _time(_ended_at(edition, recount)),
        "published_by": named(edition.author_id),
        "approved_by": named(edition.approved_by_id) if edition.approved_by_id else None,
        **({"written_by": named(edition.written_by_id)} if edition.written_by_id else {}),
        **_tags(edition),
    }


def _tags(edition: Edition) -> dict[str, list[str]]:
    """Return the names of the tags that limited the audience, if there were any."""
    choice = {"with_tags": edition.with_tags, "without_tags": edition.without_tags}
    return {key: [name for tag, name in tags] for key, tags in choice.items() if tags}


def _recount(edition: Edition) -> dict[str, Any]:
    """Count the deliveries and hash their recipients in order, in constant memory."""
    rows = Delivery.objects.filter(issue=edition.issue_id, version=edition.version)
    recipients = rows.order_by("recipient_id").values_list("recipient_id", flat=True)
    audience, after = hashlib.sha256(), -1
    while page := list(recipients.filter(recipient_id__gt=after)[:CHUNK]):
        audience.update(b"".join(b"%d\n" % recipient for recipient in page))
        after = page[-1]
    is_sent = Q(outcome="sent")
    return {
        "audience": audience.hexdigest(),
        "outcomes": Counter(dict(rows.values_list("outcome").annotate(Count("outcome")))),
        **rows.aggregate(
            message_ids=Count("provider_message_id"),
            first=Min("sent_at", filter=is_sent),
            last=Max("sent_at", filter=is_sent),
        ),
    }


def _ended_at(edition: Edition, recount: dict[str, Any]) -> datetime:
    """Return when the edition was cancelled or closed, or else the last event's time."""
    if edition.control in {"cancelled", "closed"} and edition.control_at is not None:
        return edition.control_at
    attempts = Attempt.objects.filter(edition=edition).exclude(batch_id=NO_BATCH)
    finished = attempts.aggregate(last=Max("finished_at"))["last"]
    return max(at for at in (edition.held_until, recount["last"], finished) if at is not None)


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds")


def fields_of(receipt: Receipt) -> dict[str, Any]:
    """Return the fields in the text of a receipt."""
    return dict(json.loads(receipt.text))


def is_genuine(receipt: Receipt) -> bool:
    """Return whether the receipt was signed here, with the current or an earlier key."""
    return any(
        constant_time_compare(_sign(receipt.text, secret), receipt.signature)
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )


def receipt_as_json(receipt: Receipt) -> str:
    """Return the receipt's fields and signature as the JSON text that users download."""
    return _canonical({"receipt": fields_of(receipt), "signature": receipt.signature})


def sign_receipt(fields: Mapping[str, Any], edition: Edition | None = None) -> Receipt:
    """Return an unsaved, signed receipt with these fields."""
    text = _canonical(fields)
    return Receipt(edition=edition, text=text, signature=_sign(text))


def _canonical(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _sign(text: str, secret: str | None = None) -> str:
    return salted_hmac(SALT, text, secret=secret, algorithm="sha256").hexdigest()


def parse_receipt(pasted: str) -> Receipt:
    """Return the receipt in a pasted text, unsaved. Raises `NotAReceiptError`."""
    if len(pasted) > LONGEST:
        raise NotAReceiptError(
            _("This is too long for a receipt: {length} characters; the limit is {limit}.").format(
                length=digits(len(pasted)), limit=digits(LONGEST)
            )
        )
    try:
        found = json.loads(pasted, object_pairs_hook=_refuse_repeats, parse_constant=_refuse)
        # A JSON escape can be half of a surrogate pair. A text with such an escape cannot be
        # encoded, so Homing cannot have signed it.
        _canonical(found).encode()
    except (ValueError, RecursionError):
        raise NotAReceiptError(
            _(
                "This is not a receipt, because it is not valid JSON. Paste the whole file, from "
                "the first brace to the last."
            )
        ) from None
    match found:
        case {"receipt": dict(fields), "signature": str(signature)} if len(found) == 2:
            return Receipt(text=_canonical(fields), signature=signature)
    raise NotAReceiptError(
        _("This is not a receipt. It must have exactly the keys “receipt” and “signature”.")
    )


def diff_receipts(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return each field that differs: its key and its value in each receipt."""
    flat, beside = _flatten(one), _flatten(other)
    return [
        (name, flat.get(name), beside.get(name))
        for name in sorted(flat.keys() | beside.keys())
        if flat.get(name) != beside.get(name)
    ]


def _flatten(fields: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return flat


def _refuse_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is repeated")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not allowed in a receipt")
