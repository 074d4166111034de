"""Answers of any form are classified, and no refusal counts as an acceptance."""

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delivery.postmark.classify_responses import (
    MAX_MESSAGE_ID_LENGTH,
    classify_call,
    classify_message,
)
from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    Unanswered,
)
from delivery.rules.outcomes import Sent
from delivery.rules.reason import Reason, ReasonCode
from tests.delivery.postmark_responses import accepted, addresses, message_id

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


def has_an_id(body: bytes, message_id: str) -> bool:
    return any(
        isinstance(item, dict) and item.get("MessageID") == message_id for item in json.loads(body)
    )


@given(statuses, bodies, st.integers(1, 3))
def test_nothing_is_accepted_without_an_id_and_a_200(status: int, body: bytes, count: int) -> None:
    answer = classify_call(status, {}, body, addresses(count))
    if isinstance(answer, AllAccepted | Answered):
        ids = [one.message_id for one in answer.messages if isinstance(one, Sent)]
        assert all(has_an_id(body, message_id) for message_id in ids)
        assert len(set(ids)) == len(ids)
        assert status == 200 or not ids


# Unusual values of the fields of an accepted message's result; MISSING removes the field.
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
