"""Initialise, start and stop the server.

The server is up if a client can connect to it.
"""

import shutil
import time

import psycopg
from psycopg import pq, sql
from psycopg.conninfo import make_conninfo

from newsletter_site.embedded_postgres.server_folder import PORT, SUPERUSER, Cluster
from newsletter_site.embedded_postgres.server_user import EmbeddedPostgresError, run_as

START_S = 10.0
SILENT_S = 0.5  # If a launched server gives no response for this time, it is launched again.
RECOVERY_S = 120.0  # after a crash, a server replays its log for up to this time
POLL_S = 0.02
LONGEST_LOG = 5_000_000
BUILTIN_LOCALES_SINCE = 17

SETTINGS = {
    "listen_addresses": "",  # use no TCP, only the socket in a private folder
    "unix_socket_permissions": "0700",
    "port": str(PORT),
    "max_connections": "200",
    "logging_collector": "off",
    "log_destination": "stderr",
    "lc_messages": "C",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Log no statements and no rows: both contain readers' data, which erasing cannot remove.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
# Settings for tests only: data may be lost if the machine stops.
FORGETFUL_SETTINGS = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


def is_up(cluster: Cluster) -> bool:
    """Return whether the server accepts connections now."""
    return ping(cluster) == pq.Ping.OK


def ping(cluster: Cluster) -> pq.Ping:
    """Return how the server responds to a connection."""
    parameters = cluster.parameters("postgres") | {"connect_timeout": "2"}
    return pq.Ping(pq.PGconn.ping(make_conninfo(**parameters).encode()))


def start(cluster: Cluster) -> None:
    """Start the server unless it is up.

    If the server was killed, retry until its child processes have ended.
    """
    if is_up(cluster):
        return
    make_data_directory(cluster)
    if cluster.log.exists() and cluster.log.stat().st_size > LONGEST_LOG:
        cluster.log.replace(cluster.log.with_suffix(".log.old"))
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        launch(cluster)
        if comes_up(cluster):
            return
    last_lines = cluster.log.read_text(errors="replace").splitlines()[-3:]
    raise EmbeddedPostgresError(
        f"PostgreSQL did not start in {cluster.home}. The last lines of its {cluster.log.name}: "
        + " / ".join(last_lines)
    )


def make_data_directory(cluster: Cluster) -> None:
    """Initialise the data directory.

    The authentication method `trust` is safe here, because the only socket is in a private folder.
    """
    if cluster.data.exists():
        return
    unfinished = cluster.home / "data.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    locale: tuple[str, ...] = ("--locale=C.UTF-8",)
    if cluster.binaries.major >= BUILTIN_LOCALES_SINCE:
        locale = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
    options = ("-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--no-sync", *locale)
    initdb = run_as(cluster.user, cluster.binaries / "initdb", "-D", unfinished, *options)
    if initdb.returncode != 0:
        output = " ".join((initdb.stderr or initdb.stdout).split())[-500:]
        raise EmbeddedPostgresError(f"PostgreSQL could not be set up in {cluster.home}: {output}")
    unfinished.rename(cluster.data)


def comes_up(cluster: Cluster) -> bool:
    """Wait for a launched server, and return whether it accepts connections.

    Wait longer while the server responds that it is starting.
    """
    end = time.monotonic() + RECOVERY_S
    responded_at = time.monotonic()
    while time.monotonic() < min(end, responded_at + SILENT_S):
        state = ping(cluster)
        if state == pq.Ping.OK:
            return True
        if state == pq.Ping.REJECT:
            responded_at = time.monotonic()
        time.sleep(POLL_S)
    return False


def launch(cluster: Cluster) -> None:
    """Start the server as a child of a shell, which collects its exit status.

    Process 1 of some containers does not collect the exit status of ended processes, so they would
    stay as zombies.
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
    """Stop the server cleanly if it is up, and wait for its end."""
    pg_ctl = cluster.binaries / "pg_ctl"
    run_as(cluster.user, pg_ctl, "stop", "-D", cluster.data, "-m", "fast", "-w", "-t", "60", "-s")


def make_database(cluster: Cluster, name: str) -> None:
    """Create the database `name` if it is missing. The caller holds `gate.lock`."""
    parameters = cluster.parameters("postgres")
    with psycopg.connect(make_conninfo(**parameters), autocommit=True) as connection:
        known = connection.execute("SELECT FROM pg_database WHERE datname = %s", [name])
        if known.fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
