"""Yardstick: a naive worker that claims, sends and deletes one row at a time.

The worker commits after each row. The row is locked during its call, so two such workers would not
send it twice. The HTTP session and the database connection stay open. The messages are the same as
in `bare_loop.py`.
"""

import uuid

import orjson
import psycopg
import requests

from benchmarks.cpu_time import timed
from benchmarks.yardsticks.plain_message import plain_message

PREPARE = (
    "DROP TABLE IF EXISTS one_by_one",
    "CREATE TABLE one_by_one (recipient_id bigint PRIMARY KEY, address text, name text)",
    """
    INSERT INTO one_by_one
    SELECT id, email, name FROM subscriber WHERE state = 'confirmed' ORDER BY id LIMIT {readers}
    """,
    "VACUUM (ANALYZE) one_by_one",
)
CLAIM = """
    SELECT recipient_id, address, name FROM one_by_one
    ORDER BY recipient_id LIMIT 1 FOR UPDATE SKIP LOCKED
"""


def run_one_by_one(database: str, provider: str, readers: int) -> list[float]:
    """Send to this number of readers.

    Return the seconds from the first statement to the last commit, and the CPU seconds of this
    process and the database.
    """
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in PREPARE:
            connection.execute(statement.format(readers=readers))
        connection.autocommit = False
        took = timed(connection, lambda: one_by_one(connection, provider))
        left = connection.execute("SELECT count(*) FROM one_by_one").fetchone()
        assert left == (0,), left
        connection.execute("DROP TABLE one_by_one")
    return took


def one_by_one(connection: psycopg.Connection, provider: str) -> None:
    """Send to every queued reader, one by one."""
    issue = uuid.uuid4().hex
    with requests.Session() as session:
        session.trust_env = False
        session.headers["Content-Type"] = "application/json"
        while row := connection.execute(CLAIM).fetchone():
            body = orjson.dumps(plain_message(issue, uuid.uuid4().hex, *row))
            answer = session.post(f"{provider}/email", data=body, timeout=60)
            answer.raise_for_status()
            if orjson.loads(answer.content)["ErrorCode"]:
                raise RuntimeError(answer.text)
            connection.execute("DELETE FROM one_by_one WHERE recipient_id = %s", [row[0]])
            connection.commit()
    connection.rollback()
