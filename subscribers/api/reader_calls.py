"""API calls that list, look up, add and change readers."""

from typing import Literal, cast

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Body, Router
from ninja.params.functions import Query

from api.bearer import Bearer, get_caller
from api.idempotent_call import changing, once
from api.problem import ProblemError, ProblemType, answers, field_problem, first_of
from api.schema import BEFORE, LIMIT, DecimalInt, IsoDay, json_response
from delivery.reader_fields import FIELD_NAMES
from subscribers.api import reader_scopes, reader_shapes
from subscribers.api.reader_bodies import address_of, reader_responses, tag_ids_of, values_of
from subscribers.api.reader_shapes import (
    NewReader,
    Reader,
    ReaderActedOn,
    ReaderAdded,
    ReaderMoved,
    State,
)
from subscribers.data_requests.personal_data import load_personal_data
from subscribers.desk import add_or_edit_reader
from subscribers.desk.many_readers.change_readers import change_tags
from subscribers.desk.reader_actions import ACTIONS, OLD_NAMES, perform_action
from subscribers.desk.reader_filter import ReaderFilter
from subscribers.desk.reader_list import SearchTookTooLongError, load_page
from subscribers.desk.reader_order import Place
from subscribers.models import Subscriber
from subscribers.record_activity import record_reader_activity, record_readers_activity
from subscribers.refusal_sentences import InputRefusal, sentence_of

router = Router(tags=["Readers"], auth=Bearer(reader_scopes.READERS))

# `shut-out` and `let-in` are the former names of `block` and `unblock`.
ActionName = Literal["unsubscribe", "block", "unblock", "erase", "shut-out", "let-in"]
WHICH_STATE = Query(None, description="Only readers in this state.")
WITH_TAG = Query(None, min_length=1, description="Only readers with this tag.")
FROM_SOURCE = Query(
    None,
    pattern=r"^(sign-up|api|desk|import|import-[0-9]{1,9})$",
    description="Only readers from `sign-up`, `api`, `desk`, `import`, or one import: `import-12`.",
)
SINCE = Query(None, description="Only readers who were added on this day or later.")
NOBODY = "There is no reader with this number."
UNTIL = Query(None, description="Only readers who were added on this day or earlier.")


@router.get("/", response=answers(reader_shapes.ReaderPage), summary="List readers")
def list_readers(
    request: HttpRequest,
    state: State = WHICH_STATE,
    tag: str = WITH_TAG,
    source: str = FROM_SOURCE,
    since: IsoDay = SINCE,
    until: IsoDay = UNTIL,
    limit: DecimalInt = LIMIT,
    before: DecimalInt = BEFORE,
) -> reader_shapes.ReaderPage:
    """List the readers that match every filter, newest first."""
    # If the call does not give a filter, its parameter is None. The annotation has no `| None`,
    # because the OpenAPI document would then allow null.
    wanted, origin = cast("State | None", state) or "", cast("str | None", source) or ""
    tags = tag_ids_of([tag], "tag") if tag else [None]
    chosen = ReaderFilter(wanted, tag=tags[0], source=origin, since=since, until=until)
    try:
        after = None if before is None else Place(before)
        found, last = load_page(chosen, after, limit=limit)
    except SearchTookTooLongError:
        sentence = "The search took too long. Use fewer filters."
        raise ProblemError(ProblemType.NOT_AVAILABLE, sentence) from None
    return reader_shapes.ReaderPage(readers=reader_responses(found), next=last and last.reader)


@router.post(
    "/look-up/", response=answers(Reader, 404, 413, 415), summary="Look a reader up by address"
)
def look_up_reader(request: HttpRequest, whom: Body[reader_shapes.AddressBody]) -> Reader:
    """Return the reader with this address. The call changes nothing and needs no key."""
    key = address_of(whom.address).lower()
    rows = Subscriber.objects.select_related("subscriber_import").filter(email_key=key)
    return _reader(first_of(rows, "No reader has this address."))


@router.post("/", summary="Add a reader", **changing({201: ReaderAdded, 200: ReaderAdded}))
@once
def add_reader(request: HttpRequest, reader: Body[NewReader]) -> HttpResponse:
    """Add a reader to the list.

    A known reader does not change. A reader who unsubscribed, bounced, complained or was erased is
    skipped, even if consent is stated.
    """
    where = " ".join(reader.where.split())
    refuse_half_a_statement(confirmed=reader.confirmed, where=where)
    flat = {name: getattr(reader, name) for name in FIELD_NAMES}
    added = add_or_edit_reader.add_reader(
        address_of(reader.address),
        values_of(flat, reader.fields),
        by=get_caller(request).user,
        consent=where,
        tags=tag_ids_of(reader.tags),
    )
    known = added.reader
    # The response does not contain the address, because saved responses are kept when a reader is
    # erased.
    return json_response(
        ReaderAdded(
            result=added.result,
            reader=known.pk if known else None,
            state=cast("State", known.state) if known else None,
            reason=sentence_of(added.reason) if added.reason else "",
        ),
        url=reverse("api:reader", args=[known.pk]) if known else "",
        created=added.result == "added",
    )


@router.get(
    "/{int:reader}/", response=answers(Reader, 404), summary="One reader", url_name="reader"
)
def get_reader(request: HttpRequest, reader: int) -> Reader:
    """Return one reader."""
    return _reader(_named(reader))


@router.patch("/{int:reader}/", summary="Edit a reader", **changing({200: ReaderActedOn}, 404))
@once
def edit_reader(
    request: HttpRequest, reader: int, changes: Body[reader_shapes.ReaderEdit]
) -> HttpResponse:
    """Write the given fields and replace the tags if they are given.

    An empty text clears an own field. The call is refused if `tags` contains a topic that the
    reader left.
    """
    flat = {name: text for name in FIELD_NAMES if (text := getattr(changes, name)) is not None}
    found = _named(reader)
    values, tags = values_of(flat, changes.fields), None
    if changes.tags is not None:
        tags = tag_ids_of(changes.tags, left=found.left_topics)
    by = get_caller(request).user.pk
    result = add_or_edit_reader.edit_reader(reader, values, tags, by=by)
    return _acted_on(reader, done=result == "saved", state=found.state)


@router.post(
    "/tags/",
    summary="Put tags on readers and take them off",
    **changing({200: reader_shapes.TagsChanged}),
)
@once
def change_tags_of_readers(
    request: HttpRequest, change: Body[reader_shapes.TagChange]
) -> HttpResponse:
    """Change the tags of up to 1,000 readers. A topic that a reader left stays off."""
    ids = {"added": tag_ids_of(change.add, "add"), "removed": tag_ids_of(change.remove, "remove")}
    changed = change_tags(change.readers, **ids)
    by, chosen = get_caller(request).user.pk, len(set(change.readers))
    for action, names in (("tag", change.add), ("untag", change.remove)):
        for name in names:
            record_readers_activity(action, by, readers=chosen, tag=name)
    return json_response(reader_shapes.TagsChanged(changed=changed))


@router.get(
    "/{int:reader}/record/",
    response=answers(dict[str, object], 404),
    summary="The personal data of a reader",
)
def export_reader(request: HttpRequest, reader: int) -> HttpResponse:
    """Return the data for a reader who requests it. The download is recorded."""
    if (data := load_personal_data(reader)) is None:
        raise ProblemError(ProblemType.NOT_FOUND, NOBODY)
    record_reader_activity("download_data", get_caller(request).user.pk, reader)
    return HttpResponse(data.as_json(), content_type="application/json")


@router.post(
    "/{int:reader}/new-address/",
    summary="Correct the address of a reader",
    **changing({201: ReaderMoved}, 404),
)
@once
def correct_address(
    request: HttpRequest, reader: int, new: Body[reader_shapes.AddressBody]
) -> HttpResponse:
    """Make a new, pending reader at another address, who gets a confirmation mail.

    The old reader is unsubscribed. Readers who unsubscribed or complained cannot be moved.
    """
    _named(reader)
    address, by = address_of(new.address), get_caller(request).user.pk
    moved = add_or_edit_reader.correct_address(reader, address, by=by)
    if isinstance(moved, InputRefusal):
        raise ProblemError(ProblemType.NOT_NOW, sentence_of(moved))
    url = reverse("api:reader", args=[moved.pk])
    return json_response(ReaderMoved(reader=moved.pk), url=url, created=True)


@router.post(
    "/{int:reader}/lift-bounce/",
    summary="Lift a bounce of a reader",
    **changing({200: ReaderActedOn}, 404),
)
@once
def lift_bounce_of_reader(
    request: HttpRequest, reader: int, why: Body[reader_shapes.LiftReason]
) -> HttpResponse:
    """Lift a bounce here and at the provider.

    Use this call for false bounces, for example after a fault of a mail provider. The reader
    returns to the state before the bounce. A complaint or an unsubscribe is never lifted.
    """
    reason = " ".join(why.reason.split())
    if not reason:
        raise field_problem("reason", "State why you lift the bounce. It is recorded.")
    return _act(request, reader, "lift-bounce", reason)


@router.post(
    "/{int:reader}/{action}/",
    summary="Unsubscribe, block, unblock or erase a reader",
    **changing({200: ReaderActedOn}, 404),
)
@once
def act_on_reader(request: HttpRequest, reader: int, action: ActionName) -> HttpResponse:
    """Perform an action of the desk on a reader. No action makes a reader confirmed.

    `block` blocks the address. `unblock` ends that block and nothing else. `erase` cannot be
    undone. `shut-out` and `let-in` are the former names of `block` and `unblock`.
    """
    return _act(request, reader, action)


def _act(request: HttpRequest, reader: int, action: str, *reason: str) -> HttpResponse:
    _named(reader)
    done = perform_action(
        ACTIONS[OLD_NAMES.get(action, action)], reader, get_caller(request).user.pk, *reason
    )
    state = Subscriber.objects.filter(pk=reader).values_list("state", flat=True).first()
    return _acted_on(reader, done=done, state=state)


def _acted_on(reader: int, *, done: bool, state: str | None) -> HttpResponse:
    acted = ReaderActedOn(reader=reader, done=done, state=cast("State | None", state))
    return json_response(acted, url=reverse("api:reader", args=[reader]))


def refuse_half_a_statement(*, confirmed: bool, where: str) -> None:
    """Raise `ProblemError` if only one of `confirmed` and `where` is given."""
    if confirmed and not where:
        sentence = "State where and how they gave their consent. It is recorded."
    elif where and not confirmed:
        sentence = "The call states where consent was given, but “confirmed” is not true."
    else:
        return
    raise field_problem("where", sentence)


def _named(reader: int) -> Subscriber:
    rows = Subscriber.objects.select_related("subscriber_import").filter(pk=reader)
    return first_of(rows, NOBODY)


def _reader(reader: Subscriber) -> Reader:
    return reader_responses([reader])[0]
