"""An author with readers in a separate database, a provider, and workers."""

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from django.db import connection

from delivery.models import Edition
from delivery.worker import drain
from delivery.worker.worker_process import Worker
from postmark_sandbox.server import SandboxServer
from tests.delivery.edition_factory import Newsroom
from tests.faults.processes.watched_worker import WatchedWorker
from tests.faults.servers.cutting_proxy import CuttingProxy
from tests.faults.servers.pgbouncer import Pooler
from tests.faults.servers.postgres_server import OwnServer
from tests.faults.wait_until import held


class Stage:
    """The environment of a fault test. Django is connected to `database`."""

    def __init__(
        self, server: OwnServer, database: str, provider: SandboxServer, settings: Any
    ) -> None:
        self.server, self.database, self.provider = server, database, provider
        self.sandbox = provider.sandbox
        self.url = server.url(database)
        self.newsroom = Newsroom()
        self._settings = settings
        self._workers = ExitStack()

    def close(self) -> None:
        """Kill the workers that still run."""
        self._workers.close()

    def worker(self, *options: str, url: str = "", **settings: str) -> WatchedWorker:
        """Start a worker, which reaches the database through `url` if this is given."""
        worker = WatchedWorker(url or self.url, self.provider.url, *options, **settings)
        self._workers.callback(worker.kill)
        return worker

    def in_a_call(
        self, *options: str, readers: int = 20, **settings: str
    ) -> tuple[Edition, WatchedWorker]:
        """Publish to `readers` readers; hold the worker's call after it is accepted."""
        edition = self.newsroom.publish(readers)
        self.sandbox.set_fault("hold", moment="after_accept", calls=1)
        worker = self.worker(*options, **{"DELIVERY_HTTP_DEADLINE_S": "60"} | settings)
        held(self.provider)
        return edition, worker

    @contextmanager
    def hold(self, statement: str) -> Iterator[psycopg.Connection]:
        """Run this statement in another session, and keep its transaction open."""
        with psycopg.connect(self.url) as session:
            session.execute(statement)
            yield session
            session.rollback()

    @contextmanager
    def behind_a_pooler(self, sessions: int) -> Iterator[str]:
        """Route Django through a pooler with `sessions` sessions; yield its URL."""
        pooler = self.pooler = Pooler(self.server, pool_size=sessions)
        url = pooler.url(self.database)
        try:
            with self.server.as_djangos_own(url):
                yield url
        finally:
            pooler.remove()

    def proxied(self, proxy: CuttingProxy) -> str:
        """Return the URL that leads through a proxy."""
        return proxy.url(self.server.password, self.database)

    def an_issue_goes_out(self, readers: int = 200) -> None:
        """Publish an issue, and check that a worker sends all its copies."""
        edition = self.newsroom.publish(readers)
        assert self.worker("--until-empty").end() == 0
        self.all_got_one(edition, readers)

    def the_rest_goes_out(self) -> None:
        """Let a worker of this process finish all remaining work."""
        connection.close()
        settings = self._settings
        settings.DELIVERY_LEASE_S = settings.DELIVERY_HTTP_DEADLINE_S = 2.0
        settings.DELIVERY_LOOKUP_AFTER_S = (0.5, 1.0, 2.0)
        settings.DELIVERY_RETRY_BASE_S, settings.DELIVERY_RETRY_CAP_S = 0.1, 1.0
        watch = drain.Drain(io.StringIO(), is_terminal=False)
        Worker(2, is_awaited=True).run(until=watch.is_drained)

    def all_got_one(self, edition: Edition, readers: int) -> None:
        """Check that every reader got one copy of the edition and that its counts agree."""
        connection.close()
        counts = self.newsroom.counts(edition)
        assert (counts.audience, counts.sent) == (readers, readers)
        summary = self.sandbox.summary()
        assert (summary["accepted"], summary["distinct_deliveries"]) == (readers, readers)
        assert summary["deliveries_with_more_than_one_copy"] == 0
