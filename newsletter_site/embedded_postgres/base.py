"""Django's database backend for the embedded PostgreSQL: Django's own, on a server of ours."""

from typing import Any

from django.db.backends.postgresql import base
from django.db.utils import OperationalError
from psycopg import Connection
from psycopg import OperationalError as ConnectionFailure

from newsletter_site.embedded_postgres import address, usage
from newsletter_site.embedded_postgres.client import DatabaseClient
from newsletter_site.embedded_postgres.cluster_of_settings import joined_cluster
from newsletter_site.embedded_postgres.failure import EmbeddedPostgresError


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that makes sure its server is up, and is one of the server's users."""

    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        """Every parameter given, so that PGHOST and its friends cannot leak in."""
        params = super().get_connection_params()
        cluster = joined_cluster(self.settings_dict)
        return address.parameters(cluster.socket_dir, params["dbname"]) | params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection[Any]:
        """Connect; where the server has died meanwhile, start it again first."""
        cluster = joined_cluster(self.settings_dict)
        try:
            return self.connect_once(conn_params)
        except ConnectionFailure as failure:
            try:
                usage.bring_back(cluster)
            except EmbeddedPostgresError as error:
                raise OperationalError(str(error)) from failure
            return self.connect_once(conn_params)

    def connect_once(self, conn_params: dict[str, Any]) -> Connection[Any]:
        """Connect as Django does."""
        connection: Connection[Any] = super().get_new_connection(conn_params)
        return connection
