"""`dbshell` on the embedded PostgreSQL: its own psql where the system has none."""

import shutil
from collections.abc import Iterable

from django.db.backends.postgresql import client

from newsletter_site.embedded_postgres import address
from newsletter_site.embedded_postgres.cluster_of_settings import joined_cluster


class DatabaseClient(client.DatabaseClient):
    """Starts psql on the server's socket."""

    def runshell(self, parameters: Iterable[str]) -> None:
        """Join the server's users, then hand the terminal to psql until it ends."""
        cluster = joined_cluster(self.connection.settings_dict)
        self.connection.settings_dict.update(
            HOST=str(cluster.socket_dir), PORT=str(address.PORT), USER=address.SUPERUSER
        )
        if shutil.which(self.executable_name) is None:
            type(self).executable_name = str(cluster.binaries / "psql")
        super().runshell(parameters)
