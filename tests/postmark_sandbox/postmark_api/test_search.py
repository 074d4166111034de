"""Messages that `GET /messages/outbound` finds, and queries that it refuses."""

from datetime import UTC, datetime, timedelta

from tests.postmark_sandbox.caller import ATTEMPT, Caller, a_message, messages

BROKEN: list[dict[str, object]] = [
    *({}, {"count": 10}, {"offset": 0}, {"count": 0, "offset": 0}, {"count": 501, "offset": 0}),
    *({"count": -1, "offset": 0}, {"count": 10, "offset": -1}, {"count": "ten", "offset": 0}),
    {"count": 500, "offset": 9501},
    {"count": 10, "offset": 0, "metadata_a": "1", "metadata_b": "2"},
    {"count": 10, "offset": 0, "status": "gone"},
    {"count": 10, "offset": 0, "fromdate": "yesterday"},
    {"count": 10, "offset": 0, "todate": "2026-13-01"},
]


def test_a_query_that_breaks_a_rule_is_700(caller: Caller) -> None:
    for query in BROKEN:
        reply = caller.get("/messages/outbound", **query)
        assert (reply.status, reply.code) == (422, 700), query
    assert caller.get("/messages/outbound", Count=500, OFFSET=9500).status == 200


def test_without_a_stream_only_the_transactional_one_is_searched(caller: Caller) -> None:
    caller.send(a_message(1), a_message(2, MessageStream="outbound"))
    found = caller.get("/messages/outbound", count=10, offset=0).json
    assert [m["Recipients"] for m in found["Messages"]] == [["reader2@example.net"]]
    assert found["TotalCount"] == 1


def test_a_whole_batch_is_found_by_its_attempt(caller: Caller) -> None:
    caller.send(*messages(3, Metadata={"attempt": "another", "delivery": "x"}))
    results = caller.send(*messages(500, Metadata={"attempt": ATTEMPT}))
    found = caller.search(metadata_attempt=ATTEMPT)
    assert found["TotalCount"] == 500
    assert {m["MessageID"] for m in found["Messages"]} == {r["MessageID"] for r in results}


def test_metadata_is_compared_exactly_and_its_key_without_case(caller: Caller) -> None:
    caller.send(a_message(1, Metadata={"Attempt": "AbC"}))
    assert caller.search(METADATA_ATTEMPT="AbC")["TotalCount"] == 1
    assert caller.search(metadata_attempt="abc")["TotalCount"] == 0
    assert caller.search(metadata_attempt="Ab")["TotalCount"] == 0
    assert caller.search(metadata_other="AbC")["TotalCount"] == 0
    assert caller.search(metadata_attempt="AbC", messagestream="outbound")["TotalCount"] == 0


def test_pages_are_newest_first_without_gaps_or_repeats(caller: Caller) -> None:
    for begin in range(1, 31, 10):
        caller.send(*(a_message(n) for n in range(begin, begin + 10)))
    listed = []
    for offset in range(0, 35, 7):
        page = caller.search(count=7, offset=offset)
        assert page["TotalCount"] == 30
        listed += [m["Recipients"][0] for m in page["Messages"]]
    assert listed == [f"reader{n}@example.net" for n in range(30, 0, -1)]


FILTERS: list[tuple[dict[str, str], list[int]]] = [
    ({"recipient": "READER2@example.net"}, [2]),
    ({"recipient": "reader2"}, []),
    ({"recipient": "copy@example.net"}, [3]),
    ({"tag": "issue-2"}, [3]),
    ({"tag": "issue"}, []),
    ({"subject": "low"}, [2]),
    ({"fromemail": "Letter@example.org"}, [3, 2, 1]),
    ({"fromemail": "other@example.org"}, []),
    ({"status": "sent"}, [3, 2, 1]),
    ({"status": "Processed"}, [3, 2, 1]),
    ({"status": "queued"}, []),
    ({"tag": "issue-1", "subject": "tide"}, [1]),
    ({"metadata_attempt": ATTEMPT, "tag": "issue-2"}, [3]),
]


def test_filters_pick_the_right_messages(caller: Caller) -> None:
    caller.send(
        a_message(1),
        a_message(2, Subject="Low water"),
        a_message(3, Tag="issue-2", Cc="Copy@example.net"),
    )
    for query, numbers in FILTERS:
        found = caller.search(**query)
        expected = [f"reader{n}@example.net" for n in numbers]
        assert [m["Recipients"][0] for m in found["Messages"]] == expected, query
        assert found["TotalCount"] == len(numbers)


def test_dates_are_eastern_time_and_inclusive(caller: Caller) -> None:
    """Use only whole days around now, because test_times checks the exact instants."""
    caller.send(a_message(1))
    today = datetime.fromisoformat(caller.search()["Messages"][0]["ReceivedAt"]).date()
    before, after = (str(today + timedelta(days=d)) for d in (-1, 1))
    assert caller.search(fromdate=today, todate=today)["TotalCount"] == 1
    assert caller.search(fromdate=before, todate=before)["TotalCount"] == 0
    assert caller.search(fromdate=after)["TotalCount"] == 0
    assert caller.search(todate=after)["TotalCount"] == 1
    in_an_hour = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
    assert caller.search(fromdate=in_an_hour)["TotalCount"] == 0
    assert caller.search(todate=in_an_hour)["TotalCount"] == 1


def test_delayed_index_hides_new_messages_until_it_is_cleared(caller: Caller) -> None:
    message_id = caller.send(a_message(1))[0]["MessageID"]
    fault = caller.fault("search_delay", seconds=3600)
    assert caller.search(metadata_attempt=ATTEMPT)["TotalCount"] == 0
    assert caller.search()["TotalCount"] == 0
    assert caller.get(f"/messages/outbound/{message_id}/details").code == 701
    caller.call("DELETE", f"/__sandbox__/faults/{fault['id']}")
    assert caller.search(metadata_attempt=ATTEMPT)["TotalCount"] == 1
    assert caller.get(f"/messages/outbound/{message_id}/details").status == 200
    caller.fault("search_delay", seconds=0)  # Messages older than the delay are shown.
    assert caller.search()["TotalCount"] == 1
