"""Django's PostgreSQL backend, connected to the embedded server."""

import shutil
from collections.abc import Iterable
from typing import Any

from django.db.backends.postgresql import base, client
from psycopg import Connection
from psycopg import OperationalError as ConnectionFailure

from newsletter_site.embedded_postgres import shared_usage
from newsletter_site.embedded_postgres.server_folder import PORT, SUPERUSER, Cluster, cluster_in


def join_cluster(settings_dict: dict[str, Any]) -> Cluster:
    """Join the server of `database_settings`, or raise EmbeddedPostgresError."""
    wanted = settings_dict["EMBEDDED_POSTGRES"]
    cluster = cluster_in(wanted["data_dir"], wanted["durable"])
    shared_usage.join(cluster, wanted["name"])
    return cluster


class DatabaseClient(client.DatabaseClient):
    """The client of `manage.py dbshell`: the system's psql, or the embedded server's."""

    def runshell(self, parameters: Iterable[str]) -> None:
        cluster = join_cluster(self.connection.settings_dict)
        self.connection.settings_dict.update(
            HOST=str(cluster.socket_dir), PORT=str(PORT), USER=SUPERUSER
        )
        if shutil.which(self.executable_name) is None:
            type(self).executable_name = str(cluster.binaries / "psql")
        super().runshell(parameters)


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that starts the server if it is not running."""

    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        params = super().get_connection_params()
        return join_cluster(self.settings_dict).parameters(params["dbname"]) | params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection[Any]:
        """Connect. If the server has died, start it again before connecting."""
        connection: Connection[Any]
        try:
            connection = super().get_new_connection(conn_params)
        except ConnectionFailure:
            shared_usage.restart(join_cluster(self.settings_dict))
            connection = super().get_new_connection(conn_params)
        return connection
