"""An embedded PostgreSQL (docs/decisions/0002-embedded-postgresql.md)."""

from pathlib import Path
from typing import Any

from newsletter_site.embedded_postgres.find_binaries import use_programs
from newsletter_site.embedded_postgres.private_files import prepare_data_dir
from newsletter_site.embedded_postgres.server_user import EmbeddedPostgresError

__all__ = [
    "EmbeddedPostgresError",
    "database_settings",
    "database_url",
    "prepare_data_dir",
    "use_programs",
]


def database_settings(
    data_dir: Path, *, durable: bool = True, name: str = "homing"
) -> dict[str, Any]:
    """Return the settings of a database, an entry of Django's DATABASES.

    Without `durable`, data may be lost if the machine stops, so only tests use this.
    """
    return {
        "ENGINE": __name__,
        "NAME": name,
        "EMBEDDED_POSTGRES": {"data_dir": Path(data_dir), "durable": durable, "name": name},
    }


def database_url(data_dir: Path, name: str = "homing") -> str:
    """Return a DATABASE_URL for another process.

    The URL works while this process uses the server.
    """
    # Import this late, so that settings can be read without libpq.
    from newsletter_site.embedded_postgres.server_folder import cluster_in

    return cluster_in(Path(data_dir)).url(name)
