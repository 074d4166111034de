"""listmonk on the site's PostgreSQL, with settings that make it fast.

listmonk's fastest messenger is the HTTP postback, which sends one message in each call. After
`app.message_rate` messages, each of listmonk's workers sleeps for a second. This module sets
`app.message_rate` so high that no worker ever sleeps. listmonk has the same readers and the same
letter as Homing. listmonk keeps a single position for the whole list and no record of each message.
If listmonk is killed, messages in its memory are lost or sent twice.
"""

import json
import math
import os
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from benchmarks.cpu_time import CpuTime, cpu_s, database_server
from benchmarks.letter import HOST, LETTER, LINK, NAME, SENDER, TITLE
from benchmarks.peers.build_listmonk import listmonk_folder
from benchmarks.sending import NotTheSameError, Sent
from benchmarks.site.provider_process import a_provider
from benchmarks.site.site import Site
from newsletter_site.embedded_postgres import database_url

DATABASE = "listmonk"
CONFIG = ("--config", "config.toml.sample")
UP_WITHIN_S, SENT_WITHIN_S = 30.0, 300.0

READERS = """
    INSERT INTO subscribers (uuid, email, name)
    SELECT gen_random_uuid(), 'reader' || n || '@example.net', 'Reader ' || n
    FROM generate_series(1, {readers}) AS n;
    INSERT INTO subscriber_lists (subscriber_id, list_id, status)
    SELECT subscribers.id, lists.id, 'confirmed' FROM subscribers, lists;
"""
LIST = """
    TRUNCATE campaigns, subscribers, lists CASCADE;
    INSERT INTO lists (uuid, name, type) VALUES (gen_random_uuid(), 'All', 'private');
"""
TEMPLATE = """
    INSERT INTO templates (name, type, subject, body)
    VALUES ('As it is', 'campaign', '', '{{ template "content" . }}') RETURNING id
"""
CAMPAIGN = """
    WITH new AS (
        INSERT INTO campaigns (uuid, name, subject, from_email, body, content_type, messenger,
                               template_id, status)
        VALUES (gen_random_uuid(), %(title)s, %(title)s, %(sender)s, %(body)s, 'html', 'sink',
                %(template)s, 'running')
        RETURNING id
    )
    INSERT INTO campaign_lists (campaign_id, list_id, list_name)
    SELECT new.id, lists.id, lists.name FROM new, lists RETURNING campaign_id
"""


@dataclass(frozen=True, slots=True)
class RateSettings:
    """Settings that decide listmonk's rate: workers (and connections), and batches."""

    workers: int
    batch: int

    def __str__(self) -> str:
        """Return the settings as a note below the table."""
        return f"{self.workers} workers and connections, batches of {self.batch:,}"


# A benchmark uses the fastest of these settings. The first entry has listmonk's own defaults.
TRIED_SETTINGS = (
    RateSettings(10, 1_000),
    RateSettings(16, 5_000),
    RateSettings(50, 5_000),
    RateSettings(100, 20_000),
)


@dataclass(frozen=True, slots=True)
class Listmonk:
    """An installed listmonk with its readers."""

    folder: Path
    database: str
    template: int
    readers: int
    pace: RateSettings = TRIED_SETTINGS[0]

    def send(self) -> Sent:
        """Send one campaign to all readers; check that each reader's message arrives once."""
        with a_provider(module="benchmarks.peers.sink") as sink:
            with self._running(sink.url) as process, self._connect() as connection:
                server = database_server(connection)
                before = CpuTime(cpu_s(process.pid), cpu_s(server), cpu_s(sink.pid))
                self._campaign(connection, process)
                after = CpuTime(cpu_s(process.pid), cpu_s(server), cpu_s(sink.pid))
            counts = sink.counts()
            if counts.messages != self.readers or counts.readers != self.readers:
                raise NotTheSameError(
                    f"listmonk sent {counts.messages:,} messages to {counts.readers:,} of "
                    f"{self.readers:,} readers."
                )
            return Sent(self.readers, counts.calls, counts.took_s, after - before)

    def _campaign(
        self, connection: psycopg.Connection[tuple[int]], process: subprocess.Popen[bytes]
    ) -> None:
        """Start a campaign, and wait until it has ended."""
        body = LETTER.replace(NAME, "{{ .Subscriber.Name }}").replace(LINK, "{{ UnsubscribeURL }}")
        values = {"title": TITLE, "sender": SENDER, "body": body, "template": self.template}
        row = connection.execute(CAMPAIGN, values).fetchone()
        assert row is not None
        until = time.monotonic() + SENT_WITHIN_S
        state = ""
        while state != "finished":
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"listmonk did not finish. Its campaign is {state}.")
            time.sleep(0.1)
            found = connection.execute("SELECT status FROM campaigns WHERE id = %s", row).fetchone()
            state = str(found and found[0])

    @contextmanager
    def _running(self, sink: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run listmonk with `sink` as its postback server."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        messenger = {
            "uuid": str(uuid.uuid4()),
            "enabled": True,
            "name": "sink",
            "root_url": sink,
            "max_conns": self.pace.workers,
            "retries": 2,
            "timeout": "5s",
        }
        settings = {
            "app.concurrency": self.pace.workers,
            "app.message_rate": math.ceil(1.5 * self.readers / self.pace.workers),
            "app.batch_size": self.pace.batch,
            "app.check_updates": False,
            "app.root_url": f"https://{HOST}",
            "messengers": [messenger],
            # No mail leaves this machine.
            "smtp": [
                {
                    "enabled": True,
                    "host": "127.0.0.1",
                    "port": 1,
                    "max_conns": 1,
                    "auth_protocol": "none",
                    "tls_type": "none",
                }
            ],
        }
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE settings SET value = %s::jsonb WHERE key = %s",
                [(json.dumps(value), key) for key, value in settings.items()],
            )
            connection.execute("VACUUM (ANALYZE)")
        process = subprocess.Popen(
            ["./listmonk", *CONFIG],
            cwd=self.folder,
            env=_environment(self.database) | {"LISTMONK_app__address": f"127.0.0.1:{port}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_until_up(port, process)
            yield process
        finally:
            process.kill()
            process.wait()

    def _connect(self) -> psycopg.Connection[tuple[int]]:
        return psycopg.connect(self.database, autocommit=True)


def a_listmonk(site: Site, readers: int) -> Listmonk:
    """Install listmonk in a separate database, or raise PeerUnavailableError."""
    folder = listmonk_folder()
    with site.connect() as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {DATABASE}")
    database = database_url(site.folder, DATABASE)
    done = subprocess.run(
        ["./listmonk", "--install", "--yes", *CONFIG],
        cwd=folder,
        env=_environment(database),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"listmonk was not installed:\n{done.stdout}{done.stderr}")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(LIST)
        connection.execute(READERS.format(readers=readers))
        row = connection.execute(TEMPLATE).fetchone()
        assert row is not None
    return Listmonk(folder, database, int(row[0]), readers)


def _environment(database: str) -> dict[str, str]:
    """Return the variables that override the settings in listmonk's sample file."""
    address = conninfo_to_dict(database)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    named = {name: address[name] for name in ("host", "port", "user")}
    named |= {"password": "", "database": address["dbname"]}
    return kept | {f"LISTMONK_db__{name}": str(value) for name, value in named.items()}


def _wait_until_up(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + UP_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"listmonk did not start within {UP_WITHIN_S:g} s.")
