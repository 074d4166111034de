"""How long does an import of 100,000 rows take, with its full report?

The target is for the command: from its start, Python's included, to the last line of its report. It
writes every rejected row to a file and confirms all readers. The further figures are for the desk.
The file is uploaded through the site's own WSGI application. Then a worker's step checks and
imports it, and queues a confirmation mail to every reader. Every step is its own process, and the
system reports its peak memory. Every round imports another list into a site that keeps the earlier
ones. Each report is compared with the content of its list.
"""

from benchmarks.frame import Measured, Options, RowResult, Target, run_alone, say, shown
from benchmarks.imports import Step, by_the_command, by_the_page, write_list
from benchmarks.programs.sign_in import MANAGERS, sessions_of
from benchmarks.site.site import Site, a_site

BOUND_S = 15.0
COMMAND = "the command, with its report"


def measure(options: Options) -> RowResult:
    """Measure the command and the desk's steps, round by round."""
    rows = options.size(100_000, 5_000)
    rounds: list[dict[str, Step]] = []
    with a_site() as site:
        (session,) = sessions_of(site, 1, MANAGERS)
        # The first round warms the machine up.
        for number in range(1 if options.quick else 0, options.rounds + 1):
            steps = one_round(site, rows, number, session)
            took = ", ".join(f"{name} {shown(step.took_s, 's')}" for name, step in steps.items())
            say(f"  {f'round {number}' if number else 'warm-up'}: {took}")
            if number:
                rounds.append(steps)
    seconds = {name: _seconds(name, [(steps[name],) for steps in rounds]) for name in rounds[0]}
    command = seconds.pop(COMMAND)
    desk = _seconds(
        "the three steps over the desk",
        [tuple(step for name, step in steps.items() if name != COMMAND) for steps in rounds],
    )
    memory = Measured(
        "peak memory of the largest process",
        "MB",
        tuple(max(step.peak_mb for step in steps.values()) for steps in rounds),
    )
    return RowResult(
        f"import of {rows:,} rows",
        (Target("at most 15 s with the full report", command, BOUND_S, at_most=True),),
        (*seconds.values(), desk, memory),
    )


def one_round(site: Site, rows: int, number: int, session: str) -> dict[str, Step]:
    """Import one list by command and one of the same length over the desk."""
    one, other = (site.folder / f"{way}{number}.csv" for way in ("command", "desk"))
    of_one = write_list(one, rows, f"-{one.stem}")
    of_other = write_list(other, rows, f"-{other.stem}")
    command = by_the_command(site, one)
    assert of_one.items() <= command.output.items(), command.output
    steps = by_the_page(site, other, session)
    # The same content again creates nothing and returns the desk's report.
    again = by_the_command(site, other).output
    assert (of_other | {"created": False}).items() <= again.items(), again
    return {COMMAND: command} | {f"over the desk: {name}": step for name, step in steps.items()}


def _seconds(name: str, rounds: list[tuple[Step, ...]]) -> Measured:
    return Measured(name, "s", tuple(sum(step.took_s for step in steps) for steps in rounds))


if __name__ == "__main__":
    run_alone(measure)
