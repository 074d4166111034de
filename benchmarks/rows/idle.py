"""What an idle worker costs PostgreSQL: CPU time and statements.

One real `deliver` with its defaults runs on a site without readers. The CPU time is the sum over
all processes of the server. Statements are counted later, in a separate window of time, because
logging the statements also costs CPU time.
"""

import time

from benchmarks.cpu_time import cpu_s, database_server
from benchmarks.frame import Measured, Options, RowResult, at_most, say, shown
from benchmarks.site.site import Site, a_site
from newsletter_site.embedded_postgres.server_folder import cluster_in

ROW = "an idle worker"
# Wait this long after the start, because a starting worker runs additional queries.
SETTLED_S = 12.0
# The beginnings of log lines about a statement, with and without parameters.
STATEMENTS = ("LOG:  statement: ", "LOG:  execute ")


def measure(options: Options) -> RowResult:
    """Measure CPU time and statements, each in windows of a minute."""
    window_s = options.size(60, 3)
    cpu: list[float] = []
    statements: list[float] = []
    with a_site() as site, site.running("deliver"):
        time.sleep(SETTLED_S)
        for number in range(1, options.rounds + 1):
            cpu.append(cpu_ms_a_second(site, window_s))
            statements.append(statements_a_second(site, window_s))
            say(f"  round {number}: {shown(cpu[-1], 'ms/s')}, {shown(statements[-1], '/s')}")
    return RowResult(
        ROW,
        (
            at_most(
                "at most 30 ms of PostgreSQL's CPU a second", Measured(ROW, "ms/s", tuple(cpu)), 30
            ),
            at_most("at most 12 statements a second", Measured(ROW, "/s", tuple(statements)), 12),
        ),
        notes=(f"{site.setting('DELIVERY_PROCESSES')} processes; windows of {window_s} s.",),
    )


def cpu_ms_a_second(site: Site, window_s: float) -> float:
    """Return the server's CPU milliseconds per second, averaged over the window."""
    with site.connect() as connection:
        server = database_server(connection)
    before = cpu_s(server)
    time.sleep(window_s)
    return (cpu_s(server) - before) * 1000 / window_s


def statements_a_second(site: Site, window_s: float) -> float:
    """Return the statements of all sessions per second, counted in the server's log."""
    log = cluster_in(site.folder).log
    with site.connect() as connection:
        connection.execute("ALTER SYSTEM SET log_statement = 'all'")
        connection.execute("SELECT pg_reload_conf()")
        time.sleep(1)  # Sessions notice the new value with their next statement.
        began_at = log.stat().st_size
        time.sleep(window_s)
        connection.execute("ALTER SYSTEM RESET log_statement")
        connection.execute("SELECT pg_reload_conf()")
    with log.open("rb") as file:
        file.seek(began_at)
        lines = file.read().decode(errors="replace").splitlines()
    # Skip the last line, because it belongs to the statement that ends the window.
    return sum(any(mark in line for mark in STATEMENTS) for line in lines[:-1]) / window_s
