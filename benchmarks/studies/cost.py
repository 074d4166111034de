"""Measure the CPU time of one sending: sender, database and provider.

One real `deliver --until-empty` sends to all readers of a site with full durability. Each reader's
copy must arrive once. CPU time is counted from the first claim to the worker's end.

    python -m benchmarks.studies.cost --keep FOLDER --readers 20000 --batch 200 --rounds 3
"""

import argparse
from pathlib import Path

from benchmarks.frame import at_least_one, end_in_good_order
from benchmarks.sending import Sent, sent_by_worker
from benchmarks.site.site import a_site


def main() -> None:
    """Send in each round, and print one line a round."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.cost", description="Measure the CPU time of one sending."
    )
    parser.add_argument(
        "--readers", type=at_least_one, default=20_000, help="how many (default: %(default)s)"
    )
    parser.add_argument(
        "--rounds", type=at_least_one, default=1, help="number of sendings (default: %(default)s)"
    )
    parser.add_argument("--batch", type=at_least_one, help="DELIVERY_BATCH_SIZE")
    parser.add_argument("--processes", type=at_least_one, help="DELIVERY_PROCESSES")
    parser.add_argument("--concurrency", type=at_least_one, help="DELIVERY_CONCURRENCY")
    parser.add_argument(
        "--delay-ms", type=float, default=0.0, help="milliseconds of a call (default: %(default)s)"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the site for the next run in this folder"
    )
    chosen = parser.parse_args()
    settings = {
        name: str(value)
        for name, value in {
            "DELIVERY_BATCH_SIZE": chosen.batch,
            "DELIVERY_PROCESSES": chosen.processes,
            "DELIVERY_CONCURRENCY": chosen.concurrency,
        }.items()
        if value is not None
    }
    end_in_good_order()
    # A list cannot shrink, so each number of readers has its own site.
    kept = chosen.keep and chosen.keep.resolve() / str(chosen.readers)
    with a_site(kept=kept) as site:
        site.readers(chosen.readers)
        for _ in range(chosen.rounds):
            sent = sent_by_worker(site, chosen.readers, delay_ms=chosen.delay_ms, **settings)
            print(described(sent), flush=True)


def described(sent: Sent) -> str:
    """Return one line with the rate, and the CPU time of a copy and of a call."""

    cpu = sent.cpu

    def each(over: int) -> str:
        sender, database, provider, total = (
            seconds / over * 1e6
            for seconds in (cpu.sender_s, cpu.database_s, cpu.provider_s, cpu.total_s)
        )
        return (
            f"sender {sender:,.1f} + database {database:,.1f} = {total:,.1f} µs, "
            f"provider {provider:,.1f} µs"
        )

    return (
        f"{sent.rate:,.0f} copies/s in {sent.took_s:.2f} s, {sent.calls:,} calls; CPU time of "
        f"a copy: {each(sent.copies)}; a call: {each(sent.calls)}"
    )


if __name__ == "__main__":
    main()
