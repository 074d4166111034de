"""The only place that knows which servers this process uses.

Joining starts a server and leaving as the last stops it. Two lock files order that. `users` is held
by every using process, together, until it ends; so a killed one is gone at once. `gate` is held
alone, for a moment, by whoever joins or leaves. The last to leave finds `users` free while it
holds the gate, and stops the server before it lets go: a newcomer waits at the gate and then
starts it again. One that was killed as the last leaves the server running; the next process to
leave stops it.
"""

import atexit
import os
import threading

from newsletter_site.embedded_postgres import locks, server
from newsletter_site.embedded_postgres.cluster import Cluster
from newsletter_site.embedded_postgres.failure import EmbeddedPostgresError

# How long leaving may wait at the gate: the end of a program must not hang on a frozen neighbour.
LEAVING_S = 30.0

joined: dict[Cluster, int] = {}
guard = threading.Lock()


def join(cluster: Cluster, database: str | None = None) -> None:
    """Become a user of `cluster`, its server up and its `database` there; at once if we are one.

    Raises EmbeddedPostgresError if the server cannot be started.
    """
    with guard:
        if cluster in joined:
            return
        with locks.held(cluster.gate, cluster.user):
            lock = locks.open_lock(cluster.users, cluster.user)
            try:
                locks.shared(lock)  # Nobody holds it alone but at the gate, where we are.
                server.start(cluster)
                if database is not None:
                    server.make_database(cluster, database)
            except BaseException:
                os.close(lock)
                raise
            joined[cluster] = lock


def bring_back(cluster: Cluster) -> None:
    """Start the server again if it is down, for one who is a user of it already.

    Raises EmbeddedPostgresError if it cannot be started.
    """
    with guard, locks.held(cluster.gate, cluster.user):
        server.start(cluster)


def leave(cluster: Cluster) -> None:
    """Stop being a user of `cluster`; the last one stops its server."""
    with guard:
        if cluster not in joined:
            return
        lock = joined.pop(cluster)
        try:
            with locks.held(cluster.gate, cluster.user, LEAVING_S):
                os.close(lock)
                stop_if_unused(cluster)
        except (OSError, EmbeddedPostgresError):
            # The folder was removed, or a neighbour is frozen at the gate: the next one to leave
            # stops the server. A server whose folder is gone stops by itself.
            return


def stop_if_unused(cluster: Cluster) -> bool:
    """Stop the server if no process uses it; the caller holds the gate. True if nobody did."""
    lock = locks.open_lock(cluster.users, cluster.user)
    try:
        unused = locks.alone(lock)
        if unused:
            server.stop(cluster)
        return unused
    finally:
        os.close(lock)


@atexit.register
def leave_all() -> None:
    """Leave every server that this process joined."""
    for cluster in list(joined):
        leave(cluster)


def forget() -> None:
    """In a forked child: the parent's memberships are not ours. We join anew when we connect."""
    global guard
    guard = threading.Lock()
    for lock in joined.values():
        os.close(lock)  # Closing our copy leaves the parent's lock as it is; unlocking would not.
    joined.clear()


os.register_at_fork(after_in_child=forget)
