"""Does dropping a million old copies slow down the issue being sent?

One real `deliver` with defaults sends an issue to all readers. The provider answers at once, and
PostgreSQL has full durability. Meanwhile the real `prune --copies-of` drops the copies of an older
issue to the same number of readers. The study compares the rate during the drop with the rate
before and after it, in the same run on one machine. Then it measures the disk space of a copy and
verifies that freed pages are reused.

    .venv/bin/python -m benchmarks.studies.drop_deliveries [--readers 1000000]
"""

import argparse
import json
import sys
import time
from typing import Any

from benchmarks.frame import at_least_one, end_in_good_order
from benchmarks.site.site import Site, a_site

# The table is as after a real send: the same rows, each with two versions.
SENT = """
    UPDATE delivery SET outcome = 'sent', sent_at = now() - interval '100 days', evidence = 'reply',
           provider_message_id = gen_random_uuid()::text WHERE outcome = 'waiting';
    UPDATE batch SET state = 'done', sent = size, waiting = 0;
    UPDATE edition SET published_at = now() - interval '100 days',
           held_until = now() - interval '100 days';
"""
RATE = """
    SELECT coalesce(sum(accepted), 0)::float8 FROM attempt
    WHERE finished_at > %s AND finished_at <= %s
"""


def main() -> None:
    """Measure once and print the result; exit 1 below the wanted ratio."""
    options = argparse.ArgumentParser(
        description="Measure dropping copies while another issue is sent.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    options.add_argument("--readers", type=at_least_one, default=1_000_000, help="of each issue")
    options.add_argument(
        "--before-s", type=float, default=20.0, help="seconds to send before the drop"
    )
    options.add_argument("--at-least", type=float, default=0.8, help="exit 1 below this ratio")
    chosen = options.parse_args()
    end_in_good_order()
    with a_site() as site:
        site.readers(chosen.readers)
        ratio = measure(site, chosen.readers, chosen.before_s)
    if ratio < chosen.at_least:
        sys.exit(f"Expected at least {chosen.at_least:g}.")


def measure(site: Site, readers: int, before_s: float) -> float:
    """Return the rate during the drop relative to the rate without it."""
    with site.connect() as database:

        def one(sql: str, *values: Any) -> Any:
            row = database.execute(sql, values).fetchone()
            assert row is not None
            return row[0]

        def size() -> int:
            return int(one("SELECT pg_total_relation_size('delivery')"))

        old = site.publish(title="Long ago")
        database.execute(SENT)
        database.execute("VACUUM (ANALYZE) delivery")
        print(f"a copy takes {size() / readers:,.0f} B on disk, indexes included", flush=True)
        site.publish(title="Now")
        with site.running("deliver", "--until-empty") as worker:
            while not one("SELECT EXISTS (SELECT FROM attempt WHERE accepted > 0)"):
                time.sleep(0.2)
            began = one("SELECT clock_timestamp()")
            time.sleep(before_s)
            site.manage("prune", "--copies-of", old)
            ended = one("SELECT clock_timestamp()")
            dropping = one("SELECT deliveries_dropped_at FROM edition WHERE issue_id = %s", old)
            printed, _ = worker.communicate()
        assert json.loads(printed.splitlines()[-1])["sent"] == readers, printed
        last = one("SELECT max(finished_at) FROM attempt")

        def rate(since: Any, until: Any) -> float:
            return float(one(RATE, since, until) / max(0.001, (until - since).total_seconds()))

        # The receipt is made between the two periods, and making it reads every copy.
        before = rate(began, one("SELECT made_at FROM receipt"))
        during = rate(dropping, min(ended, last))
        after = rate(ended, last) if last > ended else 0.0
        without = (before + after) / 2 if after else before
        took = (ended - dropping).total_seconds()
        print(
            f"{readers:,} copies dropped in {took:.0f} s ({readers / took:,.0f}/s); sending went "
            f"at {before:,.0f}/s before, {during:,.0f}/s meanwhile, {after:,.0f}/s after: "
            f"{during / without:.2f} of the rate without the drop",
            flush=True,
        )
        full = size()
        database.execute("VACUUM (ANALYZE) delivery")
        vacuumed = size()
        site.publish(title="Next")
        print(
            f"the table had {full / 1e6:,.0f} MB with both issues, {vacuumed / 1e6:,.0f} MB after "
            f"VACUUM, and {size() / 1e6:,.0f} MB after the next issue",
            flush=True,
        )
    return during / without


if __name__ == "__main__":
    main()
