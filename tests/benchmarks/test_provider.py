"""The provider of the benchmarks: what it answers and what it counts, asked as a program."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
import requests

from delivery.delivery_key import DeliveryKey

ROOT = Path(__file__).resolve().parents[2]
ISSUE = UUID("6a4ef1e0-0d4c-4b57-9c3a-0b8f7a1f2f10")
# All that could be taken for the end of a string, for a key or for another message.
ANYTHING = '"To":"nobody@example.net" \\"To\\":\\" {"Metadata":{"delivery":"0.1.2"}} \\ \u2028 é'

Start = Callable[..., str]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a provider with these options; its address."""
    with ExitStack() as stack:

        def started(*options: str) -> str:
            command = [sys.executable, "-m", "benchmarks.provider", *options]
            process = stack.enter_context(
                subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            return process.stdout.readline().strip()

        yield started


@pytest.fixture
def session() -> Iterator[requests.Session]:
    """A connection that is kept."""
    with requests.Session() as session:
        session.trust_env = False
        yield session


def message(number: int, html: str = "<p>The swifts have gone.</p>") -> dict[str, Any]:
    """One as the worker sends it."""
    return {
        "From": "Homing <letter@example.org>",
        "MessageStream": "broadcast",
        "To": f"reader{number}@example.net",
        "Subject": "Swifts",
        "Metadata": {"delivery": str(DeliveryKey(ISSUE, 1, number)), "attempt": uuid4().hex},
        "Headers": [{"Name": "X-PM-KeepID", "Value": "true"}],
        "HtmlBody": html,
    }


def send(session: requests.Session, url: str, messages: Any) -> Any:
    """What it answers to a batch."""
    return session.post(f"{url}/email/batch", data=orjson.dumps(messages)).json()


def asked(url: str, path: str) -> dict[str, Any]:
    """What it says of itself."""
    told: dict[str, Any] = requests.get(url + path, timeout=60).json()
    told.pop("bytes", None)  # Has a test of its own.
    return told


def test_each_message_is_accepted_in_the_order_they_came(
    start: Start, session: requests.Session
) -> None:
    answer = send(session, start(), [message(number) for number in range(200)])
    assert [each["To"] for each in answer] == [f"reader{n}@example.net" for n in range(200)]
    assert {(each["ErrorCode"], each["Message"]) for each in answer} == {(0, "OK")}
    assert set(answer[0]) == {"To", "SubmittedAt", "MessageID", "ErrorCode", "Message"}


def test_no_id_is_ever_given_twice_and_each_is_as_long_as_postmarks(
    start: Start, session: requests.Session
) -> None:
    ids: list[str] = []
    for url in (start(), start()):
        for _ in range(3):
            answer = send(session, url, [message(number) for number in range(100)])
            ids += [each["MessageID"] for each in answer]
    assert len(set(ids)) == len(ids) == 600
    assert {len(each) for each in ids} == {36}
    assert all(UUID(each) for each in ids)


def test_one_message_alone_is_answered_alone(start: Start, session: requests.Session) -> None:
    answer = session.post(f"{start()}/email", data=orjson.dumps(message(7))).json()
    assert (answer["To"], answer["ErrorCode"]) == ("reader7@example.net", 0)


def test_it_counts_calls_and_messages(start: Start, session: requests.Session) -> None:
    url = start()
    for size in (1, 20, 500):
        send(session, url, [message(number) for number in range(size)])
    assert asked(url, "/counts") == {"calls": 3, "messages": 521}


def test_it_counts_how_long_the_messages_were(start: Start, session: requests.Session) -> None:
    url, letters = start(), [message(number) for number in range(20)]
    send(session, url, letters)
    send(session, url, letters[:1])
    told = requests.get(f"{url}/counts", timeout=60).json()
    assert told["bytes"] == len(orjson.dumps(letters)) + len(orjson.dumps(letters[:1]))


def test_on_request_it_counts_readers_and_tells_who_was_sent_two(
    start: Start, session: requests.Session
) -> None:
    url = start("--keep")
    send(session, url, [message(number) for number in range(100)])
    assert asked(url, "/counts") == {"calls": 1, "messages": 100, "readers": 100}
    assert asked(url, "/twice") == {"twice": 0, "such_as": []}
    send(session, url, [message(100), message(7)])
    assert asked(url, "/counts") == {"calls": 2, "messages": 102, "readers": 101}
    assert asked(url, "/twice") == {"twice": 1, "such_as": [str(DeliveryKey(ISSUE, 1, 7))]}


def test_what_is_not_kept_cannot_be_asked(start: Start) -> None:
    answer = requests.get(f"{start()}/twice", timeout=60)
    assert answer.status_code == 409
    assert "--keep" in answer.json()["Message"]


@pytest.mark.parametrize("write", [orjson.dumps, lambda told: json.dumps(told, indent=1).encode()])
def test_no_content_is_taken_for_a_message(
    start: Start, session: requests.Session, write: Callable[[object], bytes]
) -> None:
    url = start("--keep")
    letters = [message(number, html=ANYTHING) | {"Subject": ANYTHING} for number in range(3)]
    answer = session.post(f"{url}/email/batch", data=write(letters)).json()
    assert [each["To"] for each in answer] == [each["To"] for each in letters]
    assert asked(url, "/counts") == {"calls": 1, "messages": 3, "readers": 3}


@pytest.mark.parametrize(
    "address", ['"a b"@example.net', "back\\slash@example.net", "ö@example.net"]
)
def test_an_address_comes_back_as_it_was(
    start: Start, session: requests.Session, address: str
) -> None:
    url = start()
    for write in (orjson.dumps, lambda told: json.dumps(told).encode()):
        body = write([message(1) | {"To": address}])
        assert session.post(f"{url}/email/batch", data=body).json()[0]["To"] == address


def test_who_sends_no_metadata_is_told_apart_by_address(
    start: Start, session: requests.Session
) -> None:
    url = start("--keep")
    send(session, url, [{"To": "a@example.net"}, {"To": "b@example.net"}, {"To": "a@example.net"}])
    assert asked(url, "/counts")["readers"] == 2
    assert asked(url, "/twice") == {"twice": 1, "such_as": ["a@example.net"]}


def test_nothing_is_found_there(start: Start, session: requests.Session) -> None:
    answer = session.get(f"{start()}/messages/outbound?count=500&offset=0")
    assert answer.json() == {"TotalCount": 0, "Messages": []}


def test_a_call_may_be_as_large_as_postmark_takes(start: Start, session: requests.Session) -> None:
    url = start("--keep")
    letters = [message(number, html="x" * 20_000) for number in range(500)]
    for _ in range(2):
        assert len(send(session, url, letters)) == 500
    # A small one after it finds nothing of the large one in the buffer.
    assert len(send(session, url, [message(1)])) == 1
    assert asked(url, "/counts") == {"calls": 3, "messages": 1001, "readers": 500}


def test_many_connections_are_answered_at_once(start: Start) -> None:
    url = start("--keep", "--delay-ms", "300")

    def one(number: int) -> float:
        answer = requests.post(f"{url}/email", data=orjson.dumps(message(number)), timeout=60)
        return answer.elapsed.total_seconds()

    with ThreadPoolExecutor(8) as pool:
        took = list(pool.map(one, range(8)))
    assert all(0.3 <= each < 2 * 0.3 + 1 for each in took)
    assert asked(url, "/counts") == {"calls": 8, "messages": 8, "readers": 8}


def test_a_connection_that_breaks_off_harms_no_other(
    start: Start, session: requests.Session
) -> None:
    url = start()
    port = int(url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as broken:
        broken.sendall(b"POST /email/batch HTTP/1.1\r\nContent-Length: 1000\r\n\r\n[{")
    with socket.create_connection(("127.0.0.1", port)) as garbled:
        garbled.sendall(b"\r\n\r\n")
    assert len(send(session, url, [message(1)])) == 1
    assert asked(url, "/counts")["messages"] == 1


def test_what_is_no_json_is_refused_as_postmark_does(
    start: Start, session: requests.Session
) -> None:
    answer = session.post(f"{start()}/email/batch", data=b"[{oh")
    assert (answer.status_code, answer.json()["ErrorCode"]) == (422, 402)


def test_a_delay_below_nothing_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.provider", "--delay-ms", "-1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr == "--delay-ms is -1; expected 0 or more milliseconds.\n"
