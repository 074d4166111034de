"""The only place that makes a new data directory."""

import shutil

from newsletter_site.embedded_postgres.address import SUPERUSER
from newsletter_site.embedded_postgres.cluster import Cluster
from newsletter_site.embedded_postgres.failure import EmbeddedPostgresError
from newsletter_site.embedded_postgres.server_user import run_as

BUILTIN_LOCALES_SINCE = 17


def make_data_directory(cluster: Cluster) -> None:
    """Make the data directory if there is none, whole or not at all; the caller holds the gate.

    `trust` is safe only because the server listens on nothing but a socket in a closed folder.
    """
    if cluster.data.exists():
        return
    begun = cluster.home / "data.new"
    shutil.rmtree(begun, ignore_errors=True)
    locale: tuple[str, ...] = ("--locale=C.UTF-8",)
    if cluster.binaries.major >= BUILTIN_LOCALES_SINCE:
        locale = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
    identity = ("-U", SUPERUSER, "-A", "trust", "-E", "UTF8")
    initdb = cluster.binaries / "initdb"
    answer = run_as(cluster.user, initdb, "-D", begun, *identity, *locale, "--no-sync")
    if answer.returncode != 0:
        said = " ".join((answer.stderr or answer.stdout).split())[-500:]
        raise EmbeddedPostgresError(f"PostgreSQL could not be set up in {cluster.home}: {said}")
    begun.rename(cluster.data)
