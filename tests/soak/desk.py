"""What an author and an onlooker do in a proof: bring readers, publish, read the books, audit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.own_cluster import ROOT

SHORT_LETTER = "<p>Dear {{ name|reader }}, the swifts are back.</p>"
# What a letter of a page or so comes to: 2 kB.
LETTER = SHORT_LETTER + "<p>Nobody saw them.</p>" * 95


@dataclass(frozen=True, slots=True)
class Published:
    """An edition, as the command that published it says."""

    issue: str
    version: int
    audience: int


class Desk:
    """One session on the database of a proof, and the commands, with these settings."""

    def __init__(self, url: str, **settings: str) -> None:
        self.url = url
        self.session = psycopg.connect(url, autocommit=True)
        self._commands = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.commands"],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": url} | settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End the session and the commands."""
        self.session.close()
        self._commands.communicate()

    def again(self, url: str) -> None:
        """Open the session anew, where the server was restarted meanwhile."""
        self.session.close()
        self.session = psycopg.connect(url, autocommit=True)

    def _said(self, *command: str) -> dict[str, Any]:
        """The JSON line that a command prints."""
        assert self._commands.stdin is not None
        assert self._commands.stdout is not None
        self._commands.stdin.write(json.dumps(command) + "\n")
        self._commands.stdin.flush()
        line = self._commands.stdout.readline()
        if not line:
            raise RuntimeError(f"{command[0]} failed; see above")
        said: dict[str, Any] = json.loads(line)
        return said

    def ask(self, query: str, *parameters: object) -> tuple[Any, ...]:
        """The one row that a query gives."""
        row = self.session.execute(query, list(parameters)).fetchone()
        assert row is not None
        return tuple(row)

    def confirm(self, count: int, *, first: int = 0) -> None:
        """So many confirmed readers, from `reader<first>` on."""
        self.session.execute(
            """
            INSERT INTO subscriber (email, name, state, source, confirmed_at)
            SELECT 'reader' || n || '@example.net', 'Reader ' || n, 'confirmed', 'sign-up', now()
            FROM generate_series(%s::int, %s::int) AS n
            """,
            [first, first + count - 1],
        )
        self.session.execute("ANALYZE subscriber")

    def publish(self, *options: str, html: str = SHORT_LETTER) -> Published:
        """Publish to everyone who is confirmed, or as the options say."""
        with tempfile.NamedTemporaryFile("w", suffix=".html") as letter:
            letter.write(html)
            letter.flush()
            said = self._said("publish", "--title=Swifts", f"--html-file={letter.name}", *options)
        return Published(said["issue"], said["version"], said["audience"])

    def sent(self) -> int:
        """How many copies are settled as sent, over all editions."""
        return int(self.ask("SELECT coalesce(sum(sent), 0) FROM batch")[0])

    def open_copies(self) -> tuple[int, int]:
        """How many copies wait, and how many are in doubt."""
        waiting, unknown = self.ask(
            "SELECT coalesce(sum(waiting), 0), coalesce(sum(unknown), 0) FROM batch"
        )
        return int(waiting), int(unknown)

    def alarms(self) -> int:
        """How many alarms were raised."""
        return int(self.ask("SELECT count(*) FROM alarm")[0])

    def state(self, edition: Published) -> str:
        """How an edition stands, as `issue_status` says."""
        return str(self._said("issue_status", edition.issue)["state"])

    def audit(self) -> str:
        """What `audit` found; empty if the books balance."""
        done = subprocess.run(
            [sys.executable, "manage.py", "audit"],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": self.url},
            capture_output=True,
            text=True,
            check=False,
        )
        return "" if done.returncode == 0 else (done.stdout + done.stderr)[-2000:]
