"""Yardstick: psycopg, requests and a loop, without framework or guarantees.

A competent programmer writes it in an afternoon. It has a table of recipients and claims a batch of
rows in one statement. It builds messages with orjson and makes one call. One statement marks the
rows as sent with the answer's ids, followed by a commit. Each thread has one connection and one
session. It does not record a call before making it, so a kill during a call sends the batch
again. It lacks unconfirmed copies, look-ups, a second check of consent, pausing and counts. Its
transaction stays open during the call. It runs as a separate process and prints the seconds from
its first statement to its last commit, and the CPU seconds of process and database:

    python -m benchmarks.yardsticks.bare_loop DATABASE_URL PROVIDER_URL READERS BATCH THREADS
"""

import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import orjson
import psycopg
import requests

from benchmarks.cpu_time import timed
from benchmarks.yardsticks.plain_message import plain_message

# The site's readers, with statistics and without dead rows at the start.
PREPARE = (
    "DROP TABLE IF EXISTS bare_loop",
    """
    CREATE TABLE bare_loop (
        recipient_id bigint PRIMARY KEY,
        address text NOT NULL,
        name text NOT NULL,
        sent_at timestamptz,
        provider_message_id text
    )
    """,
    "CREATE INDEX ON bare_loop (recipient_id) WHERE sent_at IS NULL",
    """
    INSERT INTO bare_loop (recipient_id, address, name)
    SELECT id, email, name FROM subscriber WHERE state = 'confirmed' ORDER BY id LIMIT {readers}
    """,
    "VACUUM (ANALYZE) bare_loop",
)
CLAIM = """
    SELECT recipient_id, address, name FROM bare_loop WHERE sent_at IS NULL AND recipient_id > %s
    ORDER BY recipient_id LIMIT %s FOR UPDATE SKIP LOCKED
"""
MARK = """
    UPDATE bare_loop SET sent_at = clock_timestamp(), provider_message_id = answer.id
    FROM unnest(%s::bigint[], %s::text[]) AS answer (recipient_id, id)
    WHERE bare_loop.recipient_id = answer.recipient_id
"""


def bare_loop(database: str, provider: str, batch: int, threads: int) -> int:
    """Send to every queued reader, in batches; return how many were sent."""
    with ThreadPoolExecutor(threads) as pool:
        loops = [pool.submit(one_thread, database, provider, batch) for _ in range(threads)]
        return sum(loop.result() for loop in loops)


def one_thread(database: str, provider: str, batch: int) -> int:
    """Send until no batch is left; return how many were sent."""
    with closing(psycopg.connect(database)) as connection:
        return _sent(connection, provider, batch)


def _sent(connection: psycopg.Connection, provider: str, batch: int) -> int:
    sent = last = 0
    issue = uuid.uuid4().hex
    with requests.Session() as session:
        session.trust_env = False
        session.headers["Content-Type"] = "application/json"
        # Continue from the last position: skipping finished rows would take longer each time.
        while rows := connection.execute(CLAIM, [last, batch]).fetchall():
            attempt = uuid.uuid4().hex
            body = orjson.dumps([plain_message(issue, attempt, *row) for row in rows])
            answer = session.post(f"{provider}/email/batch", data=body, timeout=60)
            answer.raise_for_status()
            ids = []
            for result in orjson.loads(answer.content):
                if result["ErrorCode"]:
                    raise RuntimeError(result["Message"])
                ids.append(result["MessageID"])
            connection.execute(MARK, [[row[0] for row in rows], ids])
            connection.commit()
            sent, last = sent + len(rows), rows[-1][0]
    connection.rollback()
    return sent


def main() -> None:
    """Create the table, send, print the times, and remove the table."""
    if len(sys.argv) != 6:
        sys.exit("Expected five arguments: DATABASE_URL PROVIDER_URL READERS BATCH THREADS.")
    database, provider, readers, batch, threads = sys.argv[1:]
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in PREPARE:
            connection.execute(statement.format(readers=int(readers)))
        with timed(connection):
            sent = bare_loop(database, provider, int(batch), int(threads))
        assert sent == int(readers), sent
        connection.execute("DROP TABLE bare_loop")


if __name__ == "__main__":
    main()
