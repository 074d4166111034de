"""Any answer in any form is classified, and none is wrongly taken for accepted."""

import json
from collections.abc import Mapping, Sequence
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delivery.postmark.classify_responses import (
    MAX_MESSAGE_ID_LENGTH,
    MAX_TEXT_LENGTH,
    SEARCH,
    RawResponse,
    SearchPage,
    classify_call,
    classify_message,
    parse_query,
    parse_search,
)
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    CallResult,
    Deferred,
    RefusedByProxy,
    RejectedForAll,
    SearchFailed,
    TooLarge,
    Unanswered,
)
from delivery.rules.outcomes import Failed, Sent, Suppressed
from delivery.rules.reason import Reason, ReasonCode
from tests.delivery.postmark_responses import accepted, addresses, body, message_id

CODES = [0, 10, 11, 100, 101, 300, 400, 401, 405, 406, 410, 412, 413, 422, 429, 500, 606, 701]
NAMES = ["ErrorCode", "MessageID", "Message", "To", "SubmittedAt", "Metadata", "Messages"]
MISSING = object()

texts = st.text(max_size=30) | st.sampled_from(
    ["OK", "reader1@example.net", "Invalid 'To' address: 'x'.", "2026-05-04T10:15:22.1234567Z"]
)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.sampled_from(CODES)
objects = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=15,
)
results = st.fixed_dictionaries(
    {},
    optional={
        "ErrorCode": st.sampled_from(CODES) | leaves,
        "MessageID": texts | leaves,
        "Message": texts | objects,
        "To": texts | leaves,
        "SubmittedAt": texts | leaves,
    },
)
bodies = (
    st.binary(max_size=200)
    | objects.map(lambda value: json.dumps(value).encode())
    | st.lists(results | objects, max_size=3).map(lambda value: json.dumps(value).encode())
    | results.map(lambda value: json.dumps(value).encode())
)
statuses = st.integers(-1, 1000) | st.sampled_from([200, 401, 403, 413, 415, 422, 429, 500, 503])
headers = st.dictionaries(st.text(max_size=12) | st.just("Retry-After"), st.text(max_size=12))


def has_an_id(body: bytes, message_id: str) -> bool:
    return any(
        isinstance(item, dict) and item.get("MessageID") == message_id for item in json.loads(body)
    )


@given(statuses, headers, bodies, st.integers(1, 3))
def test_every_answer_is_one_of_the_known_kinds(
    status: int, headers: dict[str, str], body: bytes, count: int
) -> None:
    answer = classify_call(status, headers, body, addresses(count))
    match answer:
        case AllAccepted() | Answered():
            assert len(answer.messages) == count
            assert all(
                isinstance(one, Sent | Suppressed | Failed | Deferred | Unanswered | RejectedForAll)
                for one in answer.messages
            )
        case Deferred(_, retry_after_s):
            assert retry_after_s is None or 0 <= retry_after_s <= 3600
        case _:
            assert isinstance(answer, RefusedByProxy | RejectedForAll | Unanswered | TooLarge)


@given(statuses, bodies, st.integers(1, 3))
def test_nothing_is_accepted_without_an_id_and_a_200(status: int, body: bytes, count: int) -> None:
    answer = classify_call(status, {}, body, addresses(count))
    if isinstance(answer, AllAccepted | Answered):
        ids = [one.message_id for one in answer.messages if isinstance(one, Sent)]
        assert all(has_an_id(body, message_id) for message_id in ids)
        assert len(set(ids)) == len(ids)
        assert status == 200 or not ids


# An accepted message in the usual form, and with one field in another form or missing.
CHANGES: Mapping[str, Sequence[object]] = {
    "ErrorCode": [False, 0.0, None, 101, 406],
    "MessageID": ["", 5, None, "a\n", "x" * (MAX_MESSAGE_ID_LENGTH + 1), message_id(2), MISSING],
    "To": ["READER1@example.net", "reader2@example.net", None, MISSING],
    "SubmittedAt": [None, [], "2026-05-04T10:15Z", MISSING],
}
FORMS = [accepted()] + [
    {name: value for name, value in accepted(**{field: change}).items() if value is not MISSING}
    for field, changes in CHANGES.items()
    for change in changes
]


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=20)
@given(more=st.lists(st.sampled_from(FORMS), max_size=2))
def test_whole_batch_is_judged_like_each_message(
    form: dict[str, object], more: list[dict[str, object]]
) -> None:
    items = [form, accepted(2), *more]
    answer = classify_call(200, {}, json.dumps(items).encode(), addresses(len(items)))
    alone = [*map(classify_message, items, addresses(len(items)))]
    ids = [one.message_id if isinstance(one, Sent) else "" for one in alone]
    repeated = Unanswered(Reason.of(ReasonCode.RESPONSE_REPEATS_ID))
    assert isinstance(answer, AllAccepted | Answered)
    assert list(answer.messages) == [
        repeated if found and ids.count(found) > 1 else one
        for one, found in zip(alone, ids, strict=True)
    ]


def test_usual_acceptances_need_no_closer_look() -> None:
    items = [accepted(1), accepted(2)]
    assert isinstance(classify_call(200, {}, body(items), addresses(2)), AllAccepted)


def reasons_of(result: CallResult) -> list[Reason]:
    messages = result.messages if isinstance(result, AllAccepted | Answered) else [result]
    return [message.reason for message in messages if not isinstance(message, Sent)]


@given(statuses, bodies, st.integers(1, 3))
def test_a_reason_is_one_line_of_bounded_length(status: int, body: bytes, count: int) -> None:
    for reason in reasons_of(classify_call(status, {}, body, addresses(count))):
        sentence = reason_sentence(reason)
        assert 0 < len(sentence) <= MAX_TEXT_LENGTH + 300
        assert not any(ord(character) < 32 for character in sentence)


@given(statuses, headers, bodies)
def test_any_page_is_read_or_reported_as_failed(
    status: int, headers: dict[str, str], body: bytes
) -> None:
    parse = partial(parse_search, field_name="attempt", value="a77e")
    page = parse_query(RawResponse(status, headers, body), SEARCH, parse)
    if isinstance(page, SearchPage):
        assert status == 200
        assert len(page.found) <= page.listed
    else:
        assert isinstance(page, SearchFailed)
