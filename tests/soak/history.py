"""
What became of every batch, and when by the database's own clock: a trigger writes it down.

In a proof's database only. From it the times of recovery are read, to the statement.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.soak.desk import Desk

_KEEP = """
    CREATE TABLE history (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at timestamptz NOT NULL, batch bigint NOT NULL, was text NOT NULL, became text NOT NULL,
        lost boolean NOT NULL, lease_until timestamptz, doubt_since timestamptz
    );
    CREATE FUNCTION keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO history (at, batch, was, became, lost, lease_until, doubt_since)
        VALUES (clock_timestamp(), NEW.id, OLD.state, NEW.state,
                -- Only who is late loses a lease, and whoever settles late changes nothing.
                OLD.lease_until <= clock_timestamp() AND NEW.lease_until IS NULL,
                OLD.lease_until, NEW.doubt_since);
        RETURN NULL;
    END $$;
    CREATE TRIGGER keep_history AFTER UPDATE ON batch FOR EACH ROW
        WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION keep_history();
"""

# From the end of a lease under which a claimed batch was lost until somebody has claimed it again.
_TAKEN_OVER = """
    SELECT extract(epoch FROM again.at - lost.lease_until)::float8
    FROM history AS lost LEFT JOIN LATERAL (
        SELECT at FROM history
        WHERE batch = lost.batch AND id > lost.id AND became = 'claimed' ORDER BY id LIMIT 1
    ) AS again ON true
    WHERE lost.lost AND lost.was = 'claimed' AND lost.became = 'ready'
"""

# From the end of a lease under which a call was lost until it stands as unknown.
_NOTICED = """
    SELECT extract(epoch FROM at - lease_until)::float8
    FROM history WHERE lost AND was = 'sending' AND became = 'unknown'
"""

# From when the last look-up was due, or from when the doubt was known if that is later, until the
# batch is settled. Before zero: an earlier look-up had found it.
_SETTLED = """
    SELECT extract(epoch FROM settled.at
               - greatest(doubt.at, doubt.doubt_since + make_interval(secs => %s)))::float8
    FROM history AS doubt LEFT JOIN LATERAL (
        SELECT at FROM history
        WHERE batch = doubt.batch AND id > doubt.id AND became NOT IN ('unknown', 'looking_up')
        ORDER BY id LIMIT 1
    ) AS settled ON true
    WHERE doubt.was = 'sending' AND doubt.became = 'unknown'
"""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds, one for each case; `never` counts the cases that did not come to their end."""

    seconds: tuple[float, ...]
    never: int

    @property
    def worst(self) -> float:
        """The longest, or 0 if there was no case."""
        return max(self.seconds, default=0.0)


def keep(desk: Desk) -> None:
    """Begin to write down what becomes of every batch."""
    desk.session.execute(_KEEP)


def taken_over(desk: Desk) -> Times:
    """How long after the end of their lease lost claims were claimed again."""
    return _times(desk, _TAKEN_OVER)


def noticed(desk: Desk) -> Times:
    """How long after the end of their lease lost calls were known to be in doubt."""
    return _times(desk, _NOTICED)


def settled(desk: Desk, *, last_look_up_s: float) -> Times:
    """How long after their last look-up was due calls in doubt were settled."""
    return _times(desk, _SETTLED, last_look_up_s)


def lost_look_ups(desk: Desk) -> int:
    """How many look-ups were lost with their worker, which adds a lease to what they settle."""
    query = "SELECT count(*) FROM history WHERE lost AND was = 'looking_up'"
    return int(desk.ask(query)[0])


def _times(desk: Desk, query: str, *parameters: object) -> Times:
    rows = [row[0] for row in desk.session.execute(query, list(parameters) or None)]
    seconds = tuple(row for row in rows if row is not None)
    return Times(seconds, len(rows) - len(seconds))
