"""The only place that goes from Django's settings of a database to the server behind them."""

from typing import Any

from django.db.utils import OperationalError

from newsletter_site.embedded_postgres import usage
from newsletter_site.embedded_postgres.cluster import Cluster, cluster_in
from newsletter_site.embedded_postgres.failure import EmbeddedPostgresError


def joined_cluster(settings_dict: dict[str, Any]) -> Cluster:
    """The server that `database_settings` named, up and with this process among its users.

    Raises Django's OperationalError if it cannot be started.
    """
    wanted = settings_dict["EMBEDDED_POSTGRES"]
    try:
        cluster = cluster_in(wanted["data_dir"], wanted["durable"])
        usage.join(cluster, wanted["name"])
    except EmbeddedPostgresError as error:
        raise OperationalError(str(error)) from error
    return cluster
