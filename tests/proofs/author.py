"""The author of a proof: adds readers, publishes, counts copies and audits."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.contrib.auth import get_user_model
from django.db import connection

from delivery.models import Alarm, Edition
from delivery.reports.load_edition_counts import load_all_counts
from delivery.rules.edition_state import state_of
from publishing.content.edition_content import Content
from publishing.publish.publish import publish
from tests.faults.servers.postgres_server import OwnServer
from tests.proofs.environment import USERNAME, manage
from tests.proofs.proof import Finding

SHORT_LETTER = "<p>Dear {{ name|reader }}, the swifts are back.</p>"
# 2 kB, about one page.
LETTER = SHORT_LETTER + "<p>Nobody saw them.</p>" * 95


@contextmanager
def desk(server: OwnServer) -> Iterator[Desk]:
    """Open a desk on a new database, which Django uses too within the block."""
    with server.fresh_database() as name, server.as_djangos_own(server.url(name)):
        it = Desk(name, server.url(name))
        yield it
        it.session.close()


class Desk:
    """An author, and one session on the database of a proof."""

    def __init__(self, database: str, url: str) -> None:
        self.database, self.url = database, url
        self.session = psycopg.connect(url, autocommit=True)

    def ask(self, query: str, *parameters: object) -> tuple[Any, ...]:
        """Return the one row of a query; connect again if the connection was lost."""
        try:
            row = self.session.execute(query, list(parameters)).fetchone()
        except psycopg.OperationalError:
            self.session = psycopg.connect(self.url, autocommit=True)
            row = self.session.execute(query, list(parameters)).fetchone()
        assert row is not None
        return tuple(row)

    def confirm(self, count: int, *, first: int = 0) -> None:
        """Add `count` confirmed readers, from `reader<first>` on."""
        self.session.execute(
            """
            INSERT INTO subscriber (email, name, state, source, confirmed_at)
            SELECT 'reader' || n || '@example.net', 'Reader ' || n, 'confirmed', 'sign-up', now()
            FROM generate_series(%s::int, %s::int) AS n
            """,
            [first, first + count - 1],
        )
        self.session.execute("ANALYZE subscriber")

    def publish(self, html: str = SHORT_LETTER, **correction: Any) -> Edition:
        author = get_user_model().objects.get(username=USERNAME)
        content = Content.from_input(title="Swifts", html=html)
        return publish(author.pk, uuid.uuid4().hex, content, hold_s=0, **correction).edition

    def sent(self) -> int:
        return int(
            self.ask(
                "SELECT coalesce(sum(sent), 0) FROM batch JOIN edition ON edition.id = edition_id "
                "WHERE kind = 'newsletter'"
            )[0]
        )

    def open_copies(self) -> tuple[int, int]:
        waiting, unknown = self.ask(
            "SELECT coalesce(sum(waiting), 0), coalesce(sum(unknown), 0) FROM batch"
        )
        return int(waiting), int(unknown)

    def judge(self, finding: Finding, outbox: dict[str, Any], copies: int, editions: int) -> None:
        """Check that the records and the provider agree: one copy for each reader."""
        found = (self.sent(), *self.open_copies())
        finding.expect(
            found == (copies, 0, 0),
            f"(sent, waiting, unconfirmed) is {found}, expected ({copies}, 0, 0)",
        )
        # Sign-ups add transactional mail, so more than `copies` may be accepted.
        accepted = outbox["accepted"]
        finding.expect(
            outbox["distinct_deliveries"] == accepted >= copies,
            f"{accepted} copies of {outbox['distinct_deliveries']} deliveries were accepted",
        )
        twice = outbox["readers_with_two_of_one_edition"]
        finding.expect(twice == 0, f"{twice} readers have two copies of one edition")
        connection.close()  # a proof may have restarted the server
        newsletters = Edition.objects.filter(kind=Edition.Kind.NEWSLETTER)
        ids = list(newsletters.values_list("pk", flat=True))
        states = [state_of(one).value for one in load_all_counts(ids)]
        finding.expect(states == ["succeeded"] * editions, f"the editions are {states}")
        # Two killed workers look like a crashing batch, so this alarm may be raised.
        alarms = Alarm.objects.exclude(kind=Alarm.Kind.BATCH_CRASHING)
        finding.expect(not alarms, f"alarms were raised: {', '.join(map(str, alarms))}")
        try:
            manage(self.url, "audit")
        except RuntimeError as error:
            finding.short.append(str(error)[-2000:])
