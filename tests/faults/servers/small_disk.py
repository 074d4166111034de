"""Make a file system for one database, so small that a test can fill it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from newsletter_site.embedded_postgres.server_user import run_as
from tests.faults.servers.postgres_server import OwnServer

# The size of the file system. A database with all tables needs about half of this size.
SIZE = "64m"
MOUNT = """
mount -t tmpfs -o size="$2",mode=0700 tmpfs "$1"
mkdir "$1/tablespace"
echo mounted
exec sleep infinity
"""


class SmallDisk:
    """A file system in a separate mount namespace of the user who runs the server.

    Only the process in this namespace sees the file system. Other processes reach the file system
    through the folder of this process in /proc.
    """

    def __init__(self, server: OwnServer) -> None:
        self._server = server
        user = server.cluster.user
        self._folder = server.cluster.home / "small-disk"
        self._folder.mkdir(mode=0o700)
        os.chown(self._folder, user.uid, user.gid)
        identity = {} if user.is_us else {"user": user.uid, "group": user.gid, "extra_groups": []}
        self._keeper = subprocess.Popen(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", MOUNT, "sh",
             self._folder, SIZE],
            stdout=subprocess.PIPE, text=True, cwd="/", **identity,
        )  # fmt: skip
        assert self._keeper.stdout
        ready = self._keeper.stdout.readline()
        assert ready, "This test mounts a file system. Allow user namespaces without privileges."
        self._root = Path(f"/proc/{self._keeper.pid}/root{self._folder}")
        self._filler = self._root / "filler"

    def remove(self) -> None:
        """End the namespace, and with it the file system."""
        self._keeper.kill()
        self._keeper.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def tablespace(self) -> Iterator[str]:
        """Make a tablespace on the file system for the block; yield its name."""
        with self._server.admin() as admin:
            admin.execute(f"CREATE TABLESPACE small LOCATION '{self._root / 'tablespace'}'")
            yield "small"
            self.free()
            admin.execute("DROP TABLESPACE small")

    def fill(self) -> None:
        """Fill the file system, so that no block is free."""
        # Run this as the server's user, because the namespace does not know root.
        done = run_as(
            self._server.cluster.user, "sh", "-c", 'cat /dev/zero >"$1"', "sh", self._filler
        )
        assert "No space left" in done.stderr

    def free(self) -> None:
        """Delete the file that fills the file system."""
        run_as(self._server.cluster.user, "rm", "-f", self._filler)
