"""How long does it take to publish to a million readers?

One form is posted over HTTP to the deployed web server. The time runs from the first byte of the
form to the last byte of the answer, which comes after the commit. The time to fill the queue is
measured in the database. This time runs from the creation of the edition's row to the entry in the
audit trail, which is written when all copies exist. The baseline is a single `INSERT … SELECT` in
its own transaction. The baseline copies the same rows from a prepared table without keys into an
empty table. Both tables have the same columns, keys, indexes, checks and fillfactor; the row
verifies that. The publishing and the baseline are measured alternately. Each measurement
starts with an empty table, directly after a checkpoint. The new rows are counted each time.
"""

import uuid
from contextlib import closing
from typing import Any

import psycopg

from benchmarks.frame import Measured, Options, RowResult, at_most, in_turns, ratio
from benchmarks.site.browser import DESK, ISSUE, OverHttp, sessions_of
from benchmarks.site.site import a_site, a_web_server

WHOLE, BARE, ENQUEUE = "the whole answer", "the bare INSERT … SELECT", "the filling of the queue"

# The columns that publishing fills; the other columns are empty in both tables.
COLUMNS = "issue_id, recipient_id, version, batch_id, address, name, outcome"
READY_MADE = f"""
    CREATE TABLE ready_made AS SELECT {COLUMNS} FROM delivery ORDER BY issue_id, recipient_id
"""
# Create the same table without its storage settings, which LIKE omits.
ALIKE = "CREATE TABLE bare (LIKE delivery INCLUDING ALL)"
STORED_BY = "SELECT reloptions FROM pg_class WHERE oid = 'delivery'::regclass"
MADE_OF = """
    SELECT array_agg(definition ORDER BY definition) FROM (
        SELECT concat_ws(' ', 'column', attname, format_type(atttypid, atttypmod), attnotnull,
                         attstorage, attcompression)
        FROM pg_attribute WHERE attrelid = %(table)s::regclass AND attnum > 0
        UNION ALL
        SELECT concat_ws(' ', 'constraint', pg_get_constraintdef(oid))
        FROM pg_constraint WHERE conrelid = %(table)s::regclass
        UNION ALL
        SELECT concat_ws(' ', 'index', indisunique,
                         regexp_replace(pg_get_indexdef(indexrelid), '^.* USING ', ''))
        FROM pg_index WHERE indrelid = %(table)s::regclass
        UNION ALL
        SELECT concat_ws(' ', 'trigger', tgfoid::regproc, tgtype) FROM pg_trigger
        WHERE tgrelid = %(table)s::regclass
        UNION ALL
        SELECT concat_ws(' ', 'stored', reloptions) FROM pg_class
        WHERE oid = %(table)s::regclass
    ) AS made (definition)
"""
FILL_BARE = f"INSERT INTO bare ({COLUMNS}) SELECT {COLUMNS} FROM ready_made"
OF_THE_NEWEST = """
    SELECT audience, extract(epoch FROM recorded.at - published_at)::float8
    FROM edition, LATERAL (
        SELECT max(action_time) FROM django_admin_log WHERE object_id = issue_id::text
    ) AS recorded (at)
    ORDER BY edition.id DESC LIMIT 1
"""


def measure(options: Options) -> RowResult:
    """Measure the request that publishes, the filling of the queue, and the baseline."""
    readers = options.size(1_000_000, 20_000)
    with (
        a_site() as site,
        a_web_server(site) as address,
        closing(site.connect()) as database,
    ):
        site.readers(readers)
        browser = OverHttp(address, sessions_of(site, 1)[0])
        press = Press(database, browser, readers)
        press.make_ready()
        whole, bare = in_turns(options, {WHOLE: press.publish, BARE: press.fill_bare}, "s")
    enqueue = Measured(ENQUEUE, "s", tuple(press.enqueued[-options.rounds :]))
    return RowResult(
        f"publish to {readers:,} readers",
        (
            at_most(
                "at most 2 × the bare INSERT … SELECT",
                ratio("the whole answer : the bare INSERT", whole, bare),
                2,
            ),
            at_most("answered in at most 10 s", whole, 10),
        ),
        (bare, enqueue, ratio("filling the queue : the bare INSERT", enqueue, bare)),
        (
            "a form posted over HTTP to `manage.py serve`",
            "both into an empty table, after a checkpoint",
        ),
    )


class Press:
    """The publisher and the baseline, which both write into empty tables."""

    def __init__(self, database: psycopg.Connection[Any], browser: OverHttp, readers: int) -> None:
        self._database, self._browser, self._readers = database, browser, readers
        self.enqueued: list[float] = []
        # Empty only the tables of the copies. Rows in other tables may stay, because they hardly
        # affect the time.
        self._emptied = "delivery, batch"

    def make_ready(self) -> None:
        """Create the bare table, and prepare the rows to copy into it, with statistics."""
        self._database.execute(ALIKE)
        self._emptied += ", bare"
        reloptions = self._one(STORED_BY, [])[0]
        self._database.execute(f"ALTER TABLE bare SET ({', '.join(reloptions)})")
        self.compare()
        self._post()
        self._database.execute(READY_MADE)
        self._database.execute("VACUUM ANALYZE ready_made")
        self.enqueued.clear()

    def compare(self) -> None:
        """Verify that both tables are alike, because otherwise the ratio has no meaning."""
        ours, bare = (self._one(MADE_OF, {"table": table})[0] for table in ("delivery", "bare"))
        assert ours == bare, f"the tables differ:\n{ours}\n{bare}"

    def publish(self) -> float:
        """Publish to everyone; return the seconds of the whole answer."""
        self._empty()
        took_s = self._post()
        assert self._one("SELECT count(*) FROM delivery", [])[0] == self._readers
        return took_s

    def fill_bare(self) -> float:
        """Fill the bare table; return the seconds of the statement and its commit."""
        self._empty()
        began = self._clock()
        self._database.execute(FILL_BARE)
        took_s = float((self._clock() - began).total_seconds())
        assert self._one("SELECT count(*) FROM bare", [])[0] == self._readers
        return took_s

    def _post(self) -> float:
        page = self._browser.post(DESK, ISSUE | {"idempotency_key": str(uuid.uuid4())})
        assert page.status == 303, page
        audience, enqueued_s = self._one(OF_THE_NEWEST, [])
        assert audience == self._readers, audience
        self.enqueued.append(enqueued_s)
        return page.took_s

    def _empty(self) -> None:
        self._database.execute(f"TRUNCATE {self._emptied}")
        self._database.execute("CHECKPOINT")

    def _clock(self) -> Any:
        return self._one("SELECT clock_timestamp()", [])[0]

    def _one(self, sql: str, values: Any) -> Any:
        row = self._database.execute(sql, values).fetchone()
        assert row is not None
        return row
