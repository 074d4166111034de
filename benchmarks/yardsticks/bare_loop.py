"""Yardsticks: two senders with psycopg, requests and a loop, without a framework.

A competent programmer would write the bare loop in an afternoon. This loop has a table of
recipients and claims a batch of rows in one statement. For each batch, the loop builds the messages
with orjson and makes one call. One statement stores the answer's ids and marks the rows as sent;
then a commit follows. Each thread has one connection and one session. The loop does not record a
call before making it. If the loop is killed during a call, the next run sends the batch again. The
loop has no unconfirmed copies, no look-ups, no second check of consent, no pausing and no counts. A
transaction stays open during each call.

The other sender is a naive worker, which claims, sends and deletes one row at a time, and commits
after each row. Each row is locked during its call, so two such workers would send no row
twice.
"""

import base64
import hashlib
import hmac
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from html import escape
from typing import Any

import orjson
import psycopg
import requests

from benchmarks.cpu_time import timed
from benchmarks.letter import HOST, LETTER, LINK, NAME, SENDER, TITLE

# Copy the site's readers into a table, with statistics and without dead rows.
PREPARE_BATCHES = (
    """
    CREATE TABLE queue (
        recipient_id bigint PRIMARY KEY,
        address text NOT NULL,
        name text NOT NULL,
        sent_at timestamptz,
        provider_message_id text
    )
    """,
    "CREATE INDEX ON queue (recipient_id) WHERE sent_at IS NULL",
)
PREPARE_ROWS = ("CREATE TABLE queue (recipient_id bigint PRIMARY KEY, address text, name text)",)
FILL = """
    INSERT INTO queue (recipient_id, address, name)
    SELECT id, email, name FROM subscriber WHERE state = 'confirmed' ORDER BY id LIMIT %s
"""
CLAIM_BATCH = """
    SELECT recipient_id, address, name FROM queue WHERE sent_at IS NULL AND recipient_id > %s
    ORDER BY recipient_id LIMIT %s FOR UPDATE SKIP LOCKED
"""
MARK = """
    UPDATE queue SET sent_at = clock_timestamp(), provider_message_id = answer.id
    FROM unnest(%s::bigint[], %s::text[]) AS answer (recipient_id, id)
    WHERE queue.recipient_id = answer.recipient_id
"""
CLAIM_ROW = """
    SELECT recipient_id, address, name FROM queue
    ORDER BY recipient_id LIMIT 1 FOR UPDATE SKIP LOCKED
"""

_KEY = b"the key of the yardsticks' links"
_BEFORE_NAME, _, _REST = LETTER.partition(NAME)
_BEFORE_LINK, _, _AFTER_LINK = _REST.partition(LINK)
_LIST_ID = {"Name": "List-Id", "Value": f'"The Homing Letter" <letter.{HOST}>'}
_KEEP_ID = {"Name": "X-PM-KeepID", "Value": "true"}
_ONE_CLICK = {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"}


def run_bare_loop(
    database: str, provider: str, readers: int, batch: int, threads: int
) -> list[float]:
    """Send to this number of readers in batches. Return the result of `_timed`."""

    def send() -> None:
        with ThreadPoolExecutor(threads) as pool:
            for loop in [
                pool.submit(_bare_loop, database, provider, batch) for _ in range(threads)
            ]:
                loop.result()

    return _timed(database, PREPARE_BATCHES, readers, send, unsent="sent_at IS NULL")


def run_one_by_one(database: str, provider: str, readers: int) -> list[float]:
    """Send to this number of readers, one by one. Return the result of `_timed`."""
    send = partial(_one_by_one, database, provider)
    return _timed(database, PREPARE_ROWS, readers, send, unsent="true")


def _timed(
    database: str,
    prepare: Sequence[str],
    readers: int,
    send: Callable[[], None],
    *,
    unsent: str,
) -> list[float]:
    """Fill the queue, send, and check that no row fulfils the condition `unsent`.

    Return the seconds from the first statement to the last commit, and the CPU seconds of this
    process and the database.
    """
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in ("DROP TABLE IF EXISTS queue", *prepare):
            connection.execute(statement)
        connection.execute(FILL, [readers])
        connection.execute("VACUUM (ANALYZE) queue")
        took = timed(connection, send)
        left = connection.execute(f"SELECT count(*) FROM queue WHERE {unsent}").fetchone()
        assert left == (0,), left
        connection.execute("DROP TABLE queue")
    return took


@contextmanager
def _connections(database: str) -> Iterator[tuple[psycopg.Connection, requests.Session]]:
    """Open a database connection and an HTTP session, which both stay open."""
    with closing(psycopg.connect(database)) as connection, requests.Session() as session:
        session.trust_env = False  # ignore proxies that the environment names
        session.headers["Content-Type"] = "application/json"
        yield connection, session


def _bare_loop(database: str, provider: str, batch: int) -> None:
    """Send until no batch is left."""
    last = 0
    issue = uuid.uuid4().hex
    with _connections(database) as (connection, session):
        # Continue from the last position. If each claim began at the first row, skipping finished
        # rows would take longer each time.
        while rows := connection.execute(CLAIM_BATCH, [last, batch]).fetchall():
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


def _one_by_one(database: str, provider: str) -> None:
    """Send to every queued reader, one by one."""
    issue = uuid.uuid4().hex
    with _connections(database) as (connection, session):
        while row := connection.execute(CLAIM_ROW).fetchone():
            body = orjson.dumps(plain_message(issue, uuid.uuid4().hex, *row))
            answer = session.post(f"{provider}/email", data=body, timeout=60)
            answer.raise_for_status()
            if orjson.loads(answer.content)["ErrorCode"]:
                raise RuntimeError(answer.text)
            connection.execute("DELETE FROM queue WHERE recipient_id = %s", [row[0]])
            connection.commit()


def plain_message(
    issue: str, attempt: str, recipient: int, address: str, name: str
) -> dict[str, Any]:
    """Build the message to one reader: like the worker's, but in the simplest way.

    The message has the same keys and headers as the worker's, and a body of the same length with
    the reader's name. The message has an unsubscribe link for its reader, and metadata by which the
    copy can be found. There are no other merge fields, no fallback for a missing name, and no check
    of the address. `issue` and `attempt` are 32 hexadecimal digits each.
    """
    proof = hmac.digest(_KEY, b"%d" % recipient, hashlib.sha256)[:18]
    token = base64.urlsafe_b64encode(proof).decode()
    link = f"https://{HOST}/unsubscribe/T{recipient:x}.{token}/"
    key = f"{issue}.1.{recipient}"
    return {
        "From": SENDER,
        "Tag": f"issue-{issue}",
        "TrackOpens": False,
        "TrackLinks": "None",
        "MessageStream": "broadcast",
        "To": address,
        "Subject": TITLE,
        "Metadata": {"delivery": key, "attempt": attempt},
        "Headers": [
            {"Name": "Message-ID", "Value": f"<{key}@{HOST}>"},
            _KEEP_ID,
            _LIST_ID,
            {"Name": "List-Unsubscribe", "Value": f"<{link}>"},
            _ONE_CLICK,
        ],
        "HtmlBody": f"{_BEFORE_NAME}{escape(name)}{_BEFORE_LINK}{link}{_AFTER_LINK}",
    }
