"""A web process is killed in the middle of a call: nothing is left of it, and the key is free."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import psycopg
import pytest

from delivery.models import Edition, Newsletter
from idempotency.models import PostedForm
from tests.newsletter_site.calling import Program

pytestmark = pytest.mark.django_db(transaction=True)

SWIFTS = {"title": "Swifts", "text": "They have gone."}
# Until a server process waits for the lock that the test holds.
SOMEBODY_WAITS = """
    SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FOR SHARE%'
"""


def test_a_call_whose_process_is_killed_is_made_by_the_next_one(
    author: Any, three_readers: Any, database_url: str
) -> None:
    program = Program(author)
    Newsletter.objects.the_one()
    asked = {"body": json.dumps(SWIFTS), "token": program.token, "key": "october"}
    with psycopg.connect(database_url) as hold, psycopg.connect(database_url) as onlooker:
        onlooker.autocommit = True
        # Publishing looks at this row in the middle of its transaction, the claim behind it.
        hold.execute("SELECT FROM newsletter FOR UPDATE")
        with subprocess.Popen(
            [sys.executable, "-m", "tests.publishing.api.calling_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "DATABASE_URL": database_url},
        ) as process:
            try:
                assert process.stdin is not None
                process.stdin.write(f"{json.dumps(asked)}\n")
                process.stdin.flush()
                while not onlooker.execute(SOMEBODY_WAITS).fetchall():
                    assert process.poll() is None
            finally:
                process.kill()
        hold.rollback()

    answer = program.post("/issues/", SWIFTS, key="october")
    assert answer.status_code == 201, answer.content
    assert Edition.objects.filter(kind=Edition.Kind.NEWSLETTER).count() == 1
    assert PostedForm.objects.count() == 1
