"""Readers through the API: seen, looked up, added, and what the desk may do about one."""

from __future__ import annotations

from typing import Literal, cast

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Body, Router
from ninja.params.functions import Query

from api.bearer import Bearer, caller_of
from api.idempotent_call import KEY_PARAMETER, change
from api.problem import CHANGING, Fault, Kind, ProblemError, refusals
from api.schema import BEFORE, LARGEST_NUMBER, LIMIT, InDigits, json_answer
from subscribers.address import Refusal, read_address
from subscribers.api import scopes
from subscribers.api.shapes import (
    LookedUp,
    NewReader,
    Reader,
    ReaderActedOn,
    ReaderAdded,
    ReaderPage,
    State,
)
from subscribers.data_requests.personal_data import record_of
from subscribers.desk.add_reader import add
from subscribers.desk.reader_actions import ACTIONS
from subscribers.desk.reader_list import Looked, SearchTookTooLongError, page_of
from subscribers.desk.readers_csv import came_by
from subscribers.models import Subscriber
from subscribers.name import read_name
from subscribers.record_activity import record_reader_activity

router = Router(tags=["Readers"])

ActionName = Literal["unsubscribe", "shut-out", "let-in", "erase"]
WHICH_STATE = Query(None, description="In this state alone.")


@router.get(
    "/",
    auth=Bearer(scopes.READERS),
    response={200: ReaderPage, **refusals()},
    operation_id="listReaders",
    summary="List readers",
)
def list_readers(
    request: HttpRequest,
    state: State = WHICH_STATE,
    limit: InDigits = LIMIT,
    before: InDigits = BEFORE,
) -> ReaderPage:
    """The readers, newest first, all of them or those in one state."""
    try:
        # None where no state is asked for; `State | None` would call null a value in the document.
        wanted = cast("State | None", state) or ""
        page = page_of(Looked(wanted), before, most=limit)
    except SearchTookTooLongError:
        raise ProblemError(
            Kind.NOT_AVAILABLE, "Looking for them took too long; ask for all states."
        ) from None
    return ReaderPage(readers=[_reader(reader) for reader in page.readers], next=page.before)


@router.post(
    "/look-up/",
    auth=Bearer(scopes.READERS),
    response={200: Reader, **refusals(404, 413, 415)},
    operation_id="lookUpReader",
    summary="Look a reader up by address",
)
def look_up_reader(request: HttpRequest, whom: Body[LookedUp]) -> Reader:
    """Whoever has this address. Changes nothing, so that it takes no key."""
    found = Subscriber.objects.select_related("subscriber_import").filter(
        email_key=_address(whom.address).lower()
    )
    reader = found.first()
    if reader is None:
        raise ProblemError(Kind.NOT_FOUND, "Nobody on the list has this address.")
    return _reader(reader)


@router.post(
    "/",
    auth=Bearer(scopes.READERS),
    response={201: ReaderAdded, 200: ReaderAdded, **refusals(*CHANGING)},
    operation_id="addReader",
    summary="Add a reader",
    openapi_extra=KEY_PARAMETER,
)
def add_reader(request: HttpRequest, reader: Body[NewReader]) -> HttpResponse:
    """
    Puts somebody onto the list. It only ever adds: who is known stays as they are, and who left,
    bounced, complained or was erased is skipped, whatever is stated.
    """
    where = " ".join(reader.where.split())

    def ready(_: str) -> None:
        _address(reader.address)
        _name(reader.name)
        refuse_half_a_statement(confirmed=reader.confirmed, where=where)

    def work(_: str) -> HttpResponse:
        caller = caller_of(request)
        says = caller.person.get_full_name() or caller.person.get_username()
        added = add(_address(reader.address), _name(reader.name), says=says, agreed_elsewhere=where)
        there = added.reader
        if there is not None and added.result == "added":
            record_reader_activity("add_by_program", caller.id, there.pk)
        # By number and without the address: erasing does not reach a saved answer.
        return json_answer(
            ReaderAdded(
                result=added.result.value,
                reader=there.pk if there else None,
                state=cast("State", there.state) if there else None,
                reason=added.why,
            ),
            201 if added.result == "added" else 200,
            at=_place(there.pk) if there else "",
            made=added.result == "added",
        )

    return change(request, reader, work, ready=ready)


@router.get(
    "/{int:reader}/",
    auth=Bearer(scopes.READERS),
    response={200: Reader, **refusals(404)},
    operation_id="getReader",
    summary="One reader",
    url_name="reader",
)
def get_reader(request: HttpRequest, reader: int) -> Reader:
    """How one reader stands."""
    return _reader(_named(reader))


@router.get(
    "/{int:reader}/record/",
    auth=Bearer(scopes.READERS),
    response={200: dict[str, object], **refusals(404)},
    operation_id="exportReader",
    summary="Everything that is held about a reader",
)
def export_reader(request: HttpRequest, reader: int) -> HttpResponse:
    """For somebody who asks what is held about them. That it was taken away is in the log."""
    record = record_of(_named(reader).pk)
    if record is None:
        raise _nobody()
    record_reader_activity("download_data", caller_of(request).id, reader)
    return HttpResponse(record.as_json(), content_type="application/json")


@router.post(
    "/{int:reader}/{action}/",
    auth=Bearer(scopes.READERS),
    response={200: ReaderActedOn, **refusals(404, *CHANGING)},
    operation_id="actOnReader",
    summary="Unsubscribe, shut out, let in or erase a reader",
    openapi_extra=KEY_PARAMETER,
)
def act_on_reader(request: HttpRequest, reader: int, action: ActionName) -> HttpResponse:
    """
    What the desk may do. None of it makes anybody confirmed: `let-in` takes back that the desk shut
    an address out, and nothing else. `erase` cannot be undone.
    """

    def work(_: str) -> HttpResponse:
        _named(reader)
        with transaction.atomic():
            done = ACTIONS[action].perform(reader)
            if done:
                record_reader_activity(action, caller_of(request).id, reader)
        state = Subscriber.objects.filter(pk=reader).values_list("state", flat=True).first()
        told = ReaderActedOn(reader=reader, done=done, state=cast("State | None", state))
        return json_answer(told, at=_place(reader))

    return change(request, None, work)


def refuse_half_a_statement(*, confirmed: bool, where: str) -> None:
    """Raises `ProblemError` where consent is stated and not where, or the other way round."""
    if confirmed and not where:
        sentence = "Say where and how they gave their consent; it goes on record."
    elif where and not confirmed:
        sentence = "It says where consent was given, and “confirmed” does not say that it was."
    else:
        return
    raise ProblemError(Kind.NOT_VALID, sentence, faults=[Fault("where", sentence)])


def _address(text: str) -> str:
    found = read_address(text)
    if isinstance(found, Refusal):
        raise ProblemError(Kind.NOT_VALID, found.reason, faults=[Fault("address", found.reason)])
    return found.email


def _name(text: str) -> str:
    found = read_name(text)
    if isinstance(found, Refusal):
        raise ProblemError(Kind.NOT_VALID, found.reason, faults=[Fault("name", found.reason)])
    return found


def _named(reader: int) -> Subscriber:
    # A number that no bigint holds is nobody's.
    found = (
        Subscriber.objects.select_related("subscriber_import").filter(pk=reader).first()
        if reader <= LARGEST_NUMBER
        else None
    )
    if found is None:
        raise _nobody()
    return found


def _nobody() -> ProblemError:
    return ProblemError(Kind.NOT_FOUND, "There is no reader of this number.")


def _place(reader: int) -> str:
    return reverse("api:reader", args=[reader])


def _reader(reader: Subscriber) -> Reader:
    return Reader(
        reader=reader.pk,
        address=reader.email,
        name=reader.name,
        state=cast("State", reader.state),
        since=reader.since,
        known_since=reader.created_at,
        came_by=came_by(reader),
    )
