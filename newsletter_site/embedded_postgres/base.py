"""Django's database backend for the embedded PostgreSQL: Django's own, on a server of ours."""

from typing import Any

from django.db.backends.postgresql import base
from django.db.utils import OperationalError
from psycopg import Connection
from psycopg import OperationalError as ConnectionFailure

from newsletter_site.embedded_postgres import address, users
from newsletter_site.embedded_postgres.client import DatabaseClient
from newsletter_site.embedded_postgres.cluster import Cluster, cluster_in
from newsletter_site.embedded_postgres.failure import EmbeddedPostgresError


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that makes sure its server is up, and is one of the server's users."""

    client_class = DatabaseClient

    def join(self) -> Cluster:
        """Join the users of the server that the settings name; Django's error if it cannot start."""
        wanted = self.settings_dict["EMBEDDED_POSTGRES"]
        try:
            cluster = cluster_in(wanted["data_dir"], wanted["durable"])
            users.join(cluster, wanted["name"])
        except EmbeddedPostgresError as error:
            raise OperationalError(str(error)) from error
        return cluster

    def get_connection_params(self) -> dict[str, Any]:
        """Every parameter given, so that PGHOST and its friends cannot leak in."""
        params = super().get_connection_params()
        server = address.parameters(self.join().socket_dir, params["dbname"])
        return server | params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        """Connect; where the server has died meanwhile, start it again first."""
        cluster = self.join()
        try:
            return super().get_new_connection(conn_params)
        except ConnectionFailure as failure:
            try:
                started = users.restart(cluster)
            except EmbeddedPostgresError as error:
                raise OperationalError(str(error)) from failure
            if not started:
                raise
            return super().get_new_connection(conn_params)
