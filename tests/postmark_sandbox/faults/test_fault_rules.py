"""Every kind of fault on a real connection, and the calls that fault rules choose."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import BadStatusLine, IncompleteRead, RemoteDisconnected
from typing import Any

import pytest

from postmark_sandbox.faults.fault_rules import FAULT_KINDS, read_rule
from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import ATTEMPT, Caller, a_message, messages


@pytest.mark.parametrize(
    ("kind", "settings", "breaks", "accepted"),
    [
        ("accept_then_close", {}, RemoteDisconnected, 3),
        ("accept_then_stall", {"seconds": 3600}, TimeoutError, 3),
        ("accept_then_stall", {"seconds": 0}, RemoteDisconnected, 3),
        ("accept_then_truncate", {}, IncompleteRead, 3),
        ("accept_then_garble", {}, ValueError, 3),
        ("accept_first_k_then_close", {"k": 0}, RemoteDisconnected, 0),
        ("accept_first_k_then_close", {"k": 2}, RemoteDisconnected, 2),
        ("close_before_reading", {}, (ConnectionError, BadStatusLine), 0),
        ("reset", {}, ConnectionResetError, 0),
    ],
)
def test_fault_decides_how_many_messages_a_broken_call_accepts(
    caller: Caller, kind: str, settings: dict[str, Any], breaks: Any, accepted: int
) -> None:
    caller.fault(kind, **settings)
    timeout_s = 0.5 if breaks is TimeoutError else 20
    with pytest.raises(breaks) as broken:
        Caller(f"http://{caller.host}", timeout_s=timeout_s).send(*messages(3))
    if kind == "reset":
        assert not isinstance(broken.value, RemoteDisconnected)
    assert caller.get("/__sandbox__/wait", accepted=accepted, timeout=20).status == 200
    summary = caller.summary()
    assert summary["accepted"] == accepted
    assert summary["calls"]["by_fault"].get(kind, 1) == 1
    if kind == "accept_then_close":
        assert caller.search(metadata_attempt=ATTEMPT)["TotalCount"] == 3
        assert summary["accepted_without_telling"] == 3
    assert [result["ErrorCode"] for result in caller.send(a_message(4))] == [0]


def test_first_k_counts_only_valid_messages(caller: Caller) -> None:
    caller.fault("accept_first_k_then_close", k=2)
    with pytest.raises(RemoteDisconnected):
        caller.send(a_message(1), a_message(2, To="nobody"), a_message(3), a_message(4))
    found = caller.search()["Messages"]
    assert [m["Recipients"][0] for m in found] == ["reader3@example.net", "reader1@example.net"]


def test_response_after_acceptance_can_be_wrong(caller: Caller) -> None:
    caller.fault("accept_then_500")
    reply = caller.post("/email/batch", messages(3))
    assert (reply.status, reply.code) == (500, 101)
    caller.fault("accept_then_garble")
    reply = caller.post("/email/batch", messages(3))
    assert (reply.status, reply.headers["content-type"][:16]) == (200, "application/json")
    caller.fault("accept_then_wrong_length")
    assert len(caller.send(*messages(3))) == 2
    caller.fault("accept_then_swap_ids")
    first, *_, last = caller.send(*messages(3))
    newest, _, oldest = caller.search()["Messages"][:3]
    assert first["MessageID"] == newest["MessageID"]
    assert last["MessageID"] == oldest["MessageID"]
    assert caller.summary()["accepted"] == 12


def test_success_may_lack_an_error_code_and_announce_a_delay(caller: Caller) -> None:
    caller.fault("success_without_error_code", calls=2)
    alone = caller.post("/email", a_message(1)).json
    good, bad = caller.send(a_message(2), a_message(3, To="nobody"))
    for result in (alone, good):
        assert "ErrorCode" not in result
        assert result["MessageID"]
        assert result["Message"] == "Message accepted, but delivery may be delayed."
    assert bad["ErrorCode"] == 300
    assert caller.summary()["accepted"] == 2


@pytest.mark.parametrize(
    ("kind", "settings", "status", "code"),
    [
        ("refuse_429", {}, 429, 429),
        ("maintenance_503", {}, 503, 100),
        ("unauthorized_401", {}, 401, 10),
        ("whole_422", {"code": 400}, 422, 400),
        ("whole_422", {"code": 1235}, 422, 1235),
        ("whole_422", {"code": 9999, "text": "Something new."}, 422, 9999),
    ],
)
def test_refusing_the_whole_request_accepts_nothing(
    caller: Caller, kind: str, settings: dict[str, object], status: int, code: int
) -> None:
    caller.fault(kind, **settings)
    reply = caller.post("/email/batch", messages(3))
    assert (reply.status, reply.code) == (status, code)
    assert reply.headers["x-pm-apierrorcode"] == str(code)
    assert reply.message == settings.get("text", reply.message)
    assert ("(letter@example.org)" in reply.message) == (code == 400)
    assert "retry-after" not in reply.headers
    caller.fault("refuse_429", retry_after=7)
    assert caller.post("/email", a_message()).headers["retry-after"] == "7"
    assert caller.summary()["accepted"] == 0


@pytest.mark.parametrize(
    ("kind", "status", "content_type"),
    [
        ("bad_gateway_502_html", 502, "text/html"),
        ("forbidden_403_html", 403, "text/html"),
        ("payload_too_large_413", 413, "text/plain"),
    ],
)
def test_proxy_errors_are_not_json(
    caller: Caller, kind: str, status: int, content_type: str
) -> None:
    caller.fault(kind)
    reply = caller.post("/email/batch", messages(3))
    assert (reply.status, reply.headers["content-type"].split(";")[0]) == (status, content_type)
    assert "x-pm-apierrorcode" not in reply.headers
    assert caller.summary()["accepted"] == 0


def test_recipients_or_k_limit_which_messages_an_item_error_hits(caller: Caller) -> None:
    caller.fault("item_error", code=300, text="Not this one.", recipients=["READER2@example.net"])
    results = caller.send(*messages(3))
    assert [r["ErrorCode"] for r in results] == [0, 300, 0]
    assert results[1] == {"ErrorCode": 300, "Message": "Not this one."}
    assert caller.summary()["accepted"] == 2
    caller.fault("item_error", code=406, k=2)
    assert [r["ErrorCode"] for r in caller.send(*messages(3))] == [406, 406, 0]
    caller.fault("item_error", code=412)
    assert [r["ErrorCode"] for r in caller.send(*messages(2))] == [412, 412]


def test_slow_and_latency_respond_late_and_correctly(caller: Caller) -> None:
    caller.fault("slow", seconds=0.2)
    begin = time.monotonic()
    assert caller.send(a_message())[0]["ErrorCode"] == 0
    assert time.monotonic() - begin >= 0.2
    assert caller.summary()["accepted_without_telling"] == 0
    with SandboxServer(latency_s=0.2) as server:
        begin = time.monotonic()
        Caller(server.url).send(a_message())
        assert time.monotonic() - begin >= 0.2


@pytest.mark.parametrize(("kind", "status"), [("search_503", 503), ("search_429", 429)])
def test_search_can_be_down_while_sending_works(caller: Caller, kind: str, status: int) -> None:
    caller.fault(kind, calls=2)
    message_id = caller.send(a_message())[0]["MessageID"]
    assert caller.get("/messages/outbound", count=1, offset=0).status == status
    assert caller.get(f"/messages/outbound/{message_id}/details").status == status
    assert caller.search()["TotalCount"] == 1


@pytest.mark.parametrize(
    ("moment", "accepted_while_held"), [("before_accept", 0), ("after_accept", 3)]
)
@pytest.mark.parametrize("outcome", ["answer", "close"])
def test_a_held_call_waits_until_it_is_released(
    server: SandboxServer, moment: str, accepted_while_held: int, outcome: str
) -> None:
    caller = Caller(server.url)
    caller.fault("hold", moment=moment)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(caller.send, *messages(3))
        waited = caller.get("/__sandbox__/wait", held=1, timeout=20)
        assert (waited.status, waited.json["held"]) == (200, 1)
        assert not sent.done()
        assert caller.summary()["accepted"] == accepted_while_held
        assert caller.post("/__sandbox__/release", {"outcome": outcome}).json == {"released": 1}
        if outcome == "answer":
            assert len(sent.result()) == 3
        else:
            assert isinstance(sent.exception(), RemoteDisconnected)
    expected = accepted_while_held if outcome == "close" else 3
    summary = caller.summary()
    assert (summary["accepted"], summary["held"]) == (expected, 0)
    unreported = accepted_while_held if outcome == "close" else 0
    assert summary["accepted_without_telling"] == unreported


def test_messages_count_as_unreported_if_the_caller_left_early(server: SandboxServer) -> None:
    caller = Caller(server.url)
    caller.fault("hold")
    body = json.dumps(messages(2)).encode()
    head = (
        f"POST /email/batch HTTP/1.1\r\nHost: {caller.host}\r\nX-Postmark-Server-Token: t\r\n"
        f"Accept: */*\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(head.encode() + body)
    assert server.sandbox.gate.wait_until(lambda: server.sandbox.gate.held == 1, 20)
    connection.close()
    calls = server.sandbox.calls.count
    server.sandbox.gate.release()
    assert server.sandbox.gate.wait_until(lambda: server.sandbox.calls.count > calls, 20)
    assert caller.summary()["accepted_without_telling"] == 2


def test_stopping_releases_a_held_call(server: SandboxServer) -> None:
    caller = Caller(server.url)
    caller.fault("hold")
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(caller.send, a_message())
        assert server.sandbox.gate.wait_until(lambda: server.sandbox.gate.held == 1, 20)
        server.stop()
        assert isinstance(sent.exception(20), (ConnectionError, BadStatusLine))


def hits(caller: Caller, calls: int) -> list[int]:
    """Return which of the next calls, counted from 1, are refused with 429."""
    return [n for n in range(1, calls + 1) if caller.post("/email", a_message(n)).status == 429]


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({}, [1]),
        ({"calls": 3}, [1, 2, 3]),
        ({"calls": None}, [1, 2, 3, 4, 5, 6]),
        ({"nth": 4}, [4]),
        ({"every": 2}, [2, 4, 6]),
        ({"every": 2, "calls": 2}, [2, 4]),
        ({"probability": 0}, []),
        ({"probability": 1}, [1, 2, 3, 4, 5, 6]),
        ({"recipient": "Reader3@example.net"}, [3]),
        ({"path": "/email/batch", "calls": None}, []),
    ],
)
def test_rule_acts_on_the_calls_that_it_names(
    caller: Caller, when: dict[str, object], expected: list[int]
) -> None:
    caller.fault("refuse_429", **when)
    assert hits(caller, 6) == expected


def test_seed_decides_which_calls_fail(caller: Caller) -> None:
    seen = []
    for seed in (1789, 1789, 1790):
        caller.fault("refuse_429", probability=0.3, seed=seed)
        seen.append(hits(caller, 40))
        caller.call("DELETE", "/__sandbox__/faults")
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]
    assert 4 <= len(seen[0]) <= 20
    # A fault without a seed uses the sandbox's seed.
    for seed in (5, 5, 6):
        with SandboxServer(seed=seed) as server:
            server.sandbox.set_fault("refuse_429", probability=0.5)
            seen.append(hits(Caller(server.url), 30))
    assert seen[3] == seen[4]
    assert seen[3] != seen[5]


def test_first_rule_that_acts_wins_and_the_next_waits(caller: Caller) -> None:
    caller.fault("refuse_429", calls=1)
    caller.fault("maintenance_503", calls=1)
    statuses = [caller.post("/email", a_message(n)).status for n in range(3)]
    assert statuses == [429, 503, 200]


def test_faults_are_listed_and_cleared(caller: Caller) -> None:
    first = caller.fault("refuse_429", calls=2)
    caller.fault("slow", seconds=5)
    caller.post("/email", a_message())
    faults = caller.get("/__sandbox__/faults").json["faults"]
    assert [(f["kind"], f["watched"], f["fired"], f["spent"]) for f in faults] == [
        ("refuse_429", 1, 1, False),
        ("slow", 0, 0, False),
    ]
    assert caller.call("DELETE", f"/__sandbox__/faults/{first['id']}").json == {"cleared": 1}
    assert caller.call("DELETE", "/__sandbox__/faults").json == {"cleared": 1}
    assert caller.get("/__sandbox__/faults").json == {"faults": []}


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"kind": "fire"}, "There is no fault 'fire'"),
    ({}, "There is no fault 'None'"),
    ({"kind": "slow", "retry_after": 1}, "The fault slow has no parameter 'retry_after'"),
    ({"kind": "slow", "seconds": "long"}, "'seconds' is 'long'; expected a number"),
    ({"kind": "slow", "seconds": -1}, "expected a number of at least 0"),
    ({"kind": "slow", "seconds": float("nan")}, "expected a number of at least 0"),
    ({"kind": "slow", "calls": 0}, "'calls' is 0; expected at least 1"),
    ({"kind": "slow", "probability": 2}, "'probability' is 2.0; expected"),
    ({"kind": "slow", "seed": "x"}, "'seed' is 'x'; expected a whole number"),
    ({"kind": "hold", "moment": "later"}, "'moment' is 'later'; expected one of"),
    ({"kind": "item_error", "recipients": [1]}, "'recipients' must be a list of addresses"),
    ({"kind": "slow", "path": 5}, "'path' and 'recipient' must be strings"),
]


def test_invalid_fault_is_refused_with_one_sentence() -> None:
    for data, sentence in REFUSED:
        with pytest.raises(ValueError) as caught:
            read_rule(data, 1, 0)
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)
    assert all(read_rule({"kind": kind}, 1, 0) for kind in FAULT_KINDS)


def test_a_fault_can_have_any_path_with_wildcards(caller: Caller) -> None:
    caller.fault("accept_then_close", path="/messages/outbound", calls=1)
    assert caller.send(a_message())[0]["ErrorCode"] == 0
    with pytest.raises(RemoteDisconnected):
        caller.search()
    caller.fault("maintenance_503", path="/message-streams/*/dump", calls=None)
    assert caller.get("/message-streams/broadcast/suppressions/dump").status == 503
    assert caller.get("/message-streams/broadcast").status == 200
    caller.fault("maintenance_503", path="/bounces*", calls=None)
    assert caller.get("/bounces", count=1, offset=0).status == 503
