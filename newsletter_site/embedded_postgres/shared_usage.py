"""The first process starts the server, and the last process stops the server.

Every process that uses the server holds a shared lock on `users.lock` until the process ends. A
process that starts or stops using the server holds `gate.lock` for a moment. When a process stops
using the server, it can lock `users.lock` exclusively only if no other process uses the server.
"""

import atexit
import os
import threading

from psycopg import pq

from newsletter_site.embedded_postgres import private_files, start_and_stop_server
from newsletter_site.embedded_postgres.server_folder import Cluster
from newsletter_site.embedded_postgres.server_user import EmbeddedPostgresError

GATE, USERS = "gate.lock", "users.lock"
# Before a program ends, it waits at most this long for `gate.lock`: a frozen process may hold this
# lock.
LEAVING_S = 30.0

joined: dict[Cluster, int] = {}
guard = threading.Lock()


def join(cluster: Cluster, database: str | None = None) -> None:
    """Use `cluster`: start its server if it is down, and create `database` if missing.

    Raise EmbeddedPostgresError if the server or the database cannot be used.
    """
    with guard:
        if cluster in joined:
            return
        for option in pq.Conninfo.get_defaults():
            if option.envvar:  # PGHOST, PGOPTIONS and so on are meant for another database
                os.unsetenv(option.envvar.decode())
        with private_files.held(cluster.home / GATE, cluster.user):
            lock = private_files.open_lock(cluster.home / USERS, cluster.user)
            try:
                # This cannot fail: only the holder of `gate.lock` may lock this file exclusively,
                # and this process now holds `gate.lock`.
                private_files.try_lock(lock, shared=True)
                start_and_stop_server.start(cluster)
                if database is not None:
                    start_and_stop_server.make_database(cluster, database)
            except BaseException:
                os.close(lock)
                raise
            joined[cluster] = lock


def restart(cluster: Cluster) -> None:
    """Start this process's server again if it is down, or raise EmbeddedPostgresError."""
    with guard, private_files.held(cluster.home / GATE, cluster.user):
        start_and_stop_server.start(cluster)


def leave(cluster: Cluster) -> None:
    """Stop using `cluster`. The last process stops its server."""
    with guard:
        if cluster not in joined:
            return
        lock = joined.pop(cluster)
        try:
            with private_files.held(cluster.home / GATE, cluster.user, LEAVING_S):
                os.close(lock)
                stop_if_unused(cluster)
        except (OSError, EmbeddedPostgresError):
            return  # The next process that leaves stops the server.


def stop_if_unused(cluster: Cluster) -> None:
    """Stop the server if no process uses it. The caller holds `gate.lock`."""
    lock = private_files.open_lock(cluster.home / USERS, cluster.user)
    try:
        if private_files.try_lock(lock):
            start_and_stop_server.stop(cluster)
    finally:
        os.close(lock)


@atexit.register
def leave_all() -> None:
    """Leave every server that this process joined."""
    for cluster in list(joined):
        leave(cluster)


def reset_after_fork() -> None:
    """In a forked child, forget the servers that the parent joined.

    The child joins a server again when it connects.
    """
    global guard
    guard = threading.Lock()
    for lock in joined.values():
        os.close(lock)  # Do not unlock: that would also release the parent's lock.
    joined.clear()


os.register_at_fork(after_in_child=reset_after_fork)
