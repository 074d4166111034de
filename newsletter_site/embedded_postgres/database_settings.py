"""The only place that says what Django's settings hold for the embedded PostgreSQL."""

from pathlib import Path
from typing import Any

BACKEND = "newsletter_site.embedded_postgres"


def database_settings(
    data_dir: Path, *, durable: bool = True, name: str = "homing"
) -> dict[str, Any]:
    """An entry for DATABASES: database `name` of the server in `data_dir`.

    The server starts with the first connection. Without `durable` it is faster and may lose
    everything if the machine stops: good for tests alone.
    """
    return {
        "ENGINE": BACKEND,
        "NAME": name,
        "EMBEDDED_POSTGRES": {"data_dir": Path(data_dir), "durable": durable, "name": name},
    }


def database_url(data_dir: Path, name: str = "homing") -> str:
    """A DATABASE_URL for another process that uses the same server while this one lives.

    A process that connects by it is not one of the server's users, and the server does not wait
    for it: it belongs to the process that gave it the address.
    """
    # Imported late, so that settings can be read without the driver's library.
    from newsletter_site.embedded_postgres import address, cluster

    return address.url(cluster.cluster_in(Path(data_dir)).socket_dir, name)
