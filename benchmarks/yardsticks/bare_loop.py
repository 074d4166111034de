"""Yardstick: psycopg, requests and a loop, without framework or guarantees.

A competent programmer would write this program in an afternoon. It has a table of recipients and
claims a batch of rows in one statement. For each batch, the program builds the messages with orjson
and makes one call. One statement marks the rows as sent with the answer's ids, followed by a
commit. Each thread has one connection and one session. The program does not record a call before
making it. If it is killed during a call, the next run sends the batch again. The program has no
unconfirmed copies, no look-ups, no second check of consent, no pausing and no counts. A transaction
stays open during each call.
"""

import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import orjson
import psycopg
import requests

from benchmarks.cpu_time import timed
from benchmarks.yardsticks.plain_message import plain_message

# Copy the site's readers into a table, with statistics and without dead rows.
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


def run_bare_loop(
    database: str, provider: str, readers: int, batch: int, threads: int
) -> list[float]:
    """Send to this number of readers.

    Return the seconds from the first statement to the last commit, and the CPU seconds of this
    process and the database.
    """
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in PREPARE:
            connection.execute(statement.format(readers=readers))
        took = timed(connection, lambda: bare_loop(database, provider, batch, threads))
        left = connection.execute("SELECT count(*) FROM bare_loop WHERE sent_at IS NULL").fetchone()
        assert left == (0,), left
        connection.execute("DROP TABLE bare_loop")
    return took


def bare_loop(database: str, provider: str, batch: int, threads: int) -> None:
    """Send to every queued reader, in batches."""
    with ThreadPoolExecutor(threads) as pool:
        for loop in [pool.submit(one_thread, database, provider, batch) for _ in range(threads)]:
            loop.result()


def one_thread(database: str, provider: str, batch: int) -> None:
    """Send until no batch is left."""
    last = 0
    issue = uuid.uuid4().hex
    with closing(psycopg.connect(database)) as connection, requests.Session() as session:
        session.trust_env = False
        session.headers["Content-Type"] = "application/json"
        # Continue from the last position. If each claim began at the first row, skipping finished
        # rows would take longer each time.
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
            last = rows[-1][0]
