"""Run a PostgreSQL server with full durability in a temporary folder.

The programs are those in the folder of HOMING_POSTGRES_BIN, or else the embedded ones.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from newsletter_site import embedded_postgres
from newsletter_site.embedded_postgres import shared_usage, start_and_stop_server
from newsletter_site.embedded_postgres.server_folder import cluster_in

DATABASE = "homing"
if programs := os.environ.get("HOMING_POSTGRES_BIN"):
    embedded_postgres.use_programs(Path(programs))


@contextmanager
def own_server() -> Iterator[Path]:
    """Run a server during the block; yield the folder that `database_url` needs."""
    with tempfile.TemporaryDirectory(prefix="homing-benchmark-") as name:
        folder = Path(name)
        # The server does not run as root and must be able to enter this folder. So every
        # user can enter this folder, but not the data folder in it.
        folder.chmod(0o711)
        cluster = cluster_in(folder)
        shared_usage.join(cluster, DATABASE)
        try:
            yield folder
        finally:
            shared_usage.leave(cluster)
            # Stop the server even if other sessions are still connected, because their work is not
            # needed.
            start_and_stop_server.stop(cluster)
            for place in (cluster.socket_dir, cluster.home):
                shutil.rmtree(place, ignore_errors=True)
