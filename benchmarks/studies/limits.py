"""Limits of PostgreSQL, JSON, the socket and the provider, each alone.

A sender does all of this on the same cores, so it takes at least the sum of the times. It spends
any further time on its own work. Batches have 200 messages of 2 kB, as for the yardsticks.

    .venv/bin/python -m benchmarks.studies.limits [--rounds 3] [--quick]
"""

import argparse
import os
import socket
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import psycopg

from benchmarks.frame import (
    NO_PROOF,
    Measured,
    Options,
    add_rounds,
    end_in_good_order,
    in_turns,
    options_of,
    with_spread,
)
from benchmarks.site.site import Site, a_site
from benchmarks.surroundings import surroundings
from benchmarks.yardsticks.plain_message import plain_message

BATCH = 200
AT_ONCE = 4
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

# The queue's statements for a batch and its recipients, without other queries.
CLAIM = """
    UPDATE batch SET state = 'claimed', epoch = epoch + 1, owner = %(worker)s,
           lease_until = clock_timestamp() + interval '30 s'
    WHERE id = (SELECT id FROM batch WHERE state = 'ready' AND due_at <= clock_timestamp()
                ORDER BY position, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, edition_id
"""
COPIES = """
    SELECT recipient_id, address, name FROM delivery
    WHERE batch_id = %(batch)s AND outcome = 'waiting' ORDER BY recipient_id
"""
START = """
    UPDATE batch SET state = 'sending', attempt = %(attempt)s,
           lease_until = clock_timestamp() + interval '150 s'
    WHERE id = %(batch)s
"""
RECORD = """
    INSERT INTO attempt (id, batch_id, edition_id, stream, epoch, worker, messages, started_at,
                         deadline_at, detail, accepted)
    VALUES (%(attempt)s, %(batch)s, %(edition)s, 'broadcast', 1, %(worker)s, %(size)s,
            clock_timestamp(), clock_timestamp() + interval '120 s', '', 0)
"""
SETTLE = """
    UPDATE batch SET state = 'done', owner = NULL, lease_until = NULL, attempt = NULL,
           sent = waiting, waiting = 0
    WHERE id = %(batch)s
"""
MARK = """
    UPDATE delivery SET outcome = 'sent', sent_at = clock_timestamp(), evidence = 'reply',
           provider_message_id = id.of ->> recipient_id::text
    FROM (SELECT %(ids)s::jsonb) AS id (of)
    WHERE batch_id = %(batch)s AND outcome = 'waiting' AND id.of ? recipient_id::text
"""
END = """
    UPDATE attempt SET finished_at = clock_timestamp(), result = 'answered', accepted = %(size)s
    WHERE id = %(attempt)s
"""


def main() -> None:
    """Measure each alone, in turns, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n\n")[0])
    add_rounds(parser)
    options = options_of(parser.parse_args())
    end_in_good_order()
    around = surroundings()
    with a_site() as site:
        figures = limits(site, options)
    lines = [NO_PROOF, ""] if options.quick else []
    lines += [f"Each limit is measured alone, with batches of {BATCH} messages of 2 kB.", ""]
    width = max(len(figure.name) for figure in figures)
    lines += [f"{figure.name:<{width}}  {with_spread(figure)}" for figure in figures]
    print("\n".join([*lines, "", *around.lines()]), flush=True)


def limits(site: Site, options: Options) -> list[Measured]:
    """Measure all limits, the sides of a round one after another."""
    readers = options.size(40_000, 2_000)
    calls = options.size(1_000, 40)
    site.readers(readers)
    body = orjson.dumps(_messages())
    # Includes the warm-up, if there is one.
    costs_us: list[float] = []
    sides: dict[str, Callable[[], float]] = {
        "PostgreSQL: claim, start and settle, one connection": partial(settled_per_s, site, 1),
        f"PostgreSQL: the same over {AT_ONCE} connections": partial(settled_per_s, site, AT_ONCE),
        "JSON: messages built and written": partial(built_per_s, calls),
        "JSON: ready messages written": partial(written_per_s, calls),
        "socket: ready-made bodies over one connection": partial(
            posted_per_s, site, body, calls, 1, costs_us
        ),
        f"socket: the same over {AT_ONCE} connections": partial(
            posted_per_s, site, body, calls, AT_ONCE, costs_us
        ),
    }
    figures = list(in_turns(options, sides, "copies/s"))
    cost = Measured("provider: CPU time per message", "µs", tuple(costs_us))
    alone = tuple(1e6 / each for each in costs_us if each)
    return [*figures, cost, Measured("provider: rate of one core", "copies/s", alone)]


def settled_per_s(site: Site, connections: int) -> float:
    """Return copies per second through the database's queue, without calls."""
    site.publish()
    with ThreadPoolExecutor(connections) as pool:
        sessions = [site.connect() for _ in range(connections)]
        began = time.monotonic()
        settled = sum(pool.map(_settle_all, sessions))
        took = time.monotonic() - began
        for session in sessions:
            session.close()
    return settled / took


def _settle_all(session: psycopg.Connection[Any]) -> int:
    """Take batches through the queue until none is ready; return the copies."""
    worker, settled = uuid.uuid4(), 0
    while row := session.execute(CLAIM, {"worker": worker}).fetchone():
        facts: dict[str, Any] = {"batch": row[0], "edition": row[1], "worker": worker}
        copies = session.execute(COPIES, facts).fetchall()
        facts |= {"attempt": uuid.uuid4(), "size": len(copies)}
        with session.transaction():
            session.execute(START, facts)
            session.execute(RECORD, facts)
        facts["ids"] = orjson.dumps(
            {
                str(recipient): f"{facts['attempt']!s:.23}-{number:012x}"
                for number, (recipient, _, _) in enumerate(copies)
            }
        ).decode()
        with session.transaction():
            session.execute(SETTLE, facts)
            session.execute(MARK, facts)
            session.execute(END, facts)
        settled += len(copies)
    return settled


def built_per_s(calls: int) -> float:
    """Return copies per second that one core builds from rows and writes as JSON."""
    began = time.monotonic()
    for _ in range(calls):
        orjson.dumps(_messages())
    return calls * BATCH / (time.monotonic() - began)


def written_per_s(calls: int) -> float:
    """Return ready copies per second that one core writes as JSON."""
    messages = _messages()
    began = time.monotonic()
    for _ in range(calls):
        orjson.dumps(messages)
    return calls * BATCH / (time.monotonic() - began)


def posted_per_s(
    site: Site, body: bytes, calls: int, connections: int, costs_us: list[float]
) -> float:
    """Return copies per second through the socket and the provider.

    Appends the provider's CPU time per message, in microseconds, to `costs_us`.
    """
    site.provider.start(keep=True)
    before = _processor_s(site.provider.pid)
    share = calls // connections
    with ThreadPoolExecutor(connections) as pool:
        began = time.monotonic()
        list(pool.map(partial(_post, site.provider.url, body), [share] * connections))
        took = time.monotonic() - began
    messages = share * connections * BATCH
    if site.provider.counts().messages != messages:
        raise RuntimeError(f"The provider saw {site.provider.counts()}, expected {messages:,}.")
    costs_us.append((_processor_s(site.provider.pid) - before) / messages * 1e6)
    return messages / took


def _post(url: str, body: bytes, calls: int) -> None:
    """Post it `times` times over one connection, and read only the end of each answer."""
    host, _, port = url.rpartition("/")[2].partition(":")
    head = (
        f"POST /email/batch HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    with closing(socket.create_connection((host, int(port)))) as connection:
        for _ in range(calls):
            connection.sendall(head)
            connection.sendall(body)
            answer = b""
            while not answer.endswith(b"}]"):
                piece = connection.recv(1 << 20)
                if not piece:
                    raise RuntimeError("The provider ended the connection.")
                answer += piece


def _processor_s(pid: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def _messages() -> Sequence[dict[str, Any]]:
    """Return one batch of messages."""
    issue, attempt = uuid.uuid4().hex, uuid.uuid4().hex
    return [
        plain_message(issue, attempt, number, f"reader{number}@example.net", f"Reader {number}")
        for number in range(BATCH)
    ]


if __name__ == "__main__":
    main()
