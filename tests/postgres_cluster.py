"""Servers of the tests: one that is kept between runs, or one for a single run.

Runs share the kept server. An `OwnCluster` belongs to one run, which holds a lock on its folder.
After a run was killed, the lock is free, so the next run stops the server and removes the files.
Servers use PostgreSQL's programs in the folder HOMING_POSTGRES_BIN, or else the embedded programs.
"""

import os
import secrets
import shutil
import tempfile
from pathlib import Path

from newsletter_site.embedded_postgres import (
    prepare_data_dir,
    private_files,
    shared_usage,
    start_and_stop_server,
    use_programs,
)
from newsletter_site.embedded_postgres.private_files import private_folder
from newsletter_site.embedded_postgres.server_folder import cluster_in
from newsletter_site.embedded_postgres.server_user import ServerUser

ROOT = Path(__file__).resolve().parent.parent
US = ServerUser(os.geteuid(), os.getegid())
if programs := os.environ.get("HOMING_POSTGRES_BIN"):
    use_programs(Path(programs))


class OwnCluster:
    """A new data folder, and the lock that shows that the folder is in use."""

    def __init__(self) -> None:
        runs = folder_of_runs()
        with private_files.held(runs / "begin.lock", US):
            clear_abandoned(runs)
            self.data_dir = prepare_data_dir(runs / f"run-{secrets.token_hex(4)}")
            self.lock = private_files.open_lock(self.data_dir / "run.lock", US)
            private_files.try_lock(self.lock, shared=True)

    def start(self) -> None:
        """Start the server without fsync, and keep it running until the run ends."""
        shared_usage.join(cluster_in(self.data_dir, durable=False))

    def end(self) -> None:
        """Stop the server and remove everything."""
        shared_usage.leave_all()
        remove(self.data_dir)
        os.close(self.lock)


class KeptCluster:
    """The data folder that is kept between runs; it holds the migrated template."""

    def __init__(self) -> None:
        self.data_dir = prepare_data_dir(folder_of_runs() / "kept")

    def start(self) -> None:
        """Start the server, or join the runs that already use it."""
        shared_usage.join(cluster_in(self.data_dir, durable=False))

    def end(self) -> None:
        """Stop the server if no other run uses it. The server's files stay."""
        shared_usage.leave_all()


def folder_of_runs() -> Path:
    """Return `.homing-test`, or a private folder if the checkout is read-only."""
    inside = ROOT / ".homing-test"
    if os.access(inside if inside.exists() else ROOT, os.W_OK | os.X_OK):
        return prepare_data_dir(inside)
    return private_folder(Path(tempfile.gettempdir()) / f"homing-test-{US.uid}", US)


def clear_abandoned(runs: Path) -> None:
    """Remove the folders of runs that are no longer alive, and stop their servers."""
    for data_dir in runs.glob("run-*"):
        lock = private_files.open_lock(data_dir / "run.lock", US)
        try:
            if private_files.try_lock(lock):
                remove(data_dir)
        finally:
            os.close(lock)


def remove(data_dir: Path) -> None:
    """Stop the server in `data_dir`, even if it is in use, and remove its files."""
    cluster = cluster_in(data_dir, durable=False)
    start_and_stop_server.stop(cluster)
    for folder in (cluster.socket_dir, cluster.home, data_dir):
        shutil.rmtree(folder, ignore_errors=True)
