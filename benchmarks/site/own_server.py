"""A PostgreSQL server for one run, with full durability, in a folder that goes with the run."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from newsletter_site import embedded_postgres
from newsletter_site.embedded_postgres import server, usage
from newsletter_site.embedded_postgres.cluster import cluster_in

DATABASE = "homing"


@contextmanager
def own_server() -> Iterator[Path]:
    """The folder of a server that is up as long as the block; `database_url` leads to it."""
    with tempfile.TemporaryDirectory(prefix="homing-benchmark-") as name:
        folder = Path(name)
        # The server does not run as root, and its folder would stand elsewhere if it could not
        # come in here; its own part of it is closed to all others.
        folder.chmod(0o711)
        cluster = cluster_in(folder)
        usage.join(cluster, DATABASE)
        try:
            yield folder
        finally:
            usage.leave(cluster)
            # Whoever else may still be connected: nothing of it is wanted any more.
            server.stop(cluster)
            for place in (cluster.socket_dir, cluster.home):
                shutil.rmtree(place, ignore_errors=True)


def database_url(folder: Path, name: str = DATABASE) -> str:
    """The address of a database of the server in `folder`, for Django's settings and for libpq."""
    return embedded_postgres.database_url(folder, name)
