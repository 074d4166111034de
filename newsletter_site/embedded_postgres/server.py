"""The only place that starts and stops the server and asks whether it is up.

Whether it is up is told by a connection, never by a process id: an id may be another program's,
and a server that was just killed looks alive by its id.
"""

import time

import psycopg
from psycopg import pq, sql
from psycopg.conninfo import make_conninfo

from newsletter_site.embedded_postgres import address
from newsletter_site.embedded_postgres.cluster import Cluster
from newsletter_site.embedded_postgres.failure import EmbeddedPostgresError
from newsletter_site.embedded_postgres.initdb import make_data_directory
from newsletter_site.embedded_postgres.server_user import run_as

START_S = 10.0
TRY_S = 0.5  # After so much silence it is launched again.
RECOVERY_S = 120.0  # A server that says "starting up" is replaying its log after a crash.
POLL_S = 0.02
LONGEST_LOG = 5_000_000

SETTINGS = {
    "listen_addresses": "",  # No TCP at all: nothing but the socket in a closed folder.
    "unix_socket_permissions": "0700",
    "port": str(address.PORT),
    "max_connections": "200",
    "logging_collector": "off",
    "log_destination": "stderr",
    "lc_messages": "C",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Neither the statement that failed nor the row that was in its way: both name readers, and
    # erasing does not reach a log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
# For tests: what is lost when the machine itself stops does not matter to them.
FORGETFUL_SETTINGS = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


def is_up(cluster: Cluster) -> bool:
    """Whether the server takes connections now."""
    return ping(cluster) == pq.Ping.OK


def ping(cluster: Cluster) -> pq.Ping:
    """What the server answers to a try at a connection."""
    parameters = address.parameters(cluster.socket_dir, "postgres") | {"connect_timeout": "2"}
    return pq.Ping(pq.PGconn.ping(make_conninfo(**parameters).encode()))


def start(cluster: Cluster) -> None:
    """Start the server unless it is up; the caller holds the gate.

    It tries again for a while, because after a kill -9 of the server its children must go first.
    Raises EmbeddedPostgresError with the last words of its log.
    """
    if is_up(cluster):
        return
    make_data_directory(cluster)
    keep_log_short(cluster)
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        launch(cluster)
        if comes_up(cluster):
            return
    last_words = cluster.log.read_text(errors="replace").splitlines()[-3:]
    raise EmbeddedPostgresError(
        f"PostgreSQL did not start in {cluster.home}; the last lines of {cluster.log.name} there: "
        + " / ".join(last_words)
    )


def comes_up(cluster: Cluster) -> bool:
    """Wait for the server just launched: briefly in silence, longer while it says to wait."""
    end = time.monotonic() + RECOVERY_S
    last_sign_of_life = time.monotonic()
    while time.monotonic() < min(end, last_sign_of_life + TRY_S):
        state = ping(cluster)
        if state == pq.Ping.OK:
            return True
        if state == pq.Ping.REJECT:
            last_sign_of_life = time.monotonic()
        time.sleep(POLL_S)
    return False


def launch(cluster: Cluster) -> None:
    """Start the server as a process of its own, which outlives us and our terminal.

    A small shell stays as its parent. It reaps the server at its end: where nobody does (process 1
    of some containers), a killed server would stay as a zombie, and the next one would take that
    for a living server.
    """
    settings = SETTINGS | {"unix_socket_directories": f'"{cluster.socket_dir}"'}
    if not cluster.durable:
        settings |= FORGETFUL_SETTINGS
    options = [text for name, value in settings.items() for text in ("-c", f"{name}={value}")]
    postgres = cluster.binaries / "postgres"
    script = '("$@"; :) </dev/null >>"$0" 2>&1 &'
    shell = ("/bin/sh", "-c", script, cluster.log)
    run_as(cluster.user, *shell, postgres, "-D", cluster.data, *options)


def stop(cluster: Cluster) -> None:
    """Stop the server cleanly and wait for its end; nothing happens if it is not up."""
    pg_ctl = cluster.binaries / "pg_ctl"
    run_as(cluster.user, pg_ctl, "stop", "-D", cluster.data, "-m", "fast", "-w", "-t", "60", "-s")


def make_database(cluster: Cluster, name: str) -> None:
    """Make the database `name` if there is none; the caller holds the gate."""
    parameters = address.parameters(cluster.socket_dir, "postgres")
    with psycopg.connect(make_conninfo(**parameters), autocommit=True) as connection:
        known = connection.execute("SELECT FROM pg_database WHERE datname = %s", [name])
        if known.fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def keep_log_short(cluster: Cluster) -> None:
    """Put an overlong log aside, in place of the one put aside before."""
    if cluster.log.exists() and cluster.log.stat().st_size > LONGEST_LOG:
        cluster.log.replace(cluster.log.with_suffix(".log.old"))
