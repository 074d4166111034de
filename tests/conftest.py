"""Set up what every test needs: a fixed environment and a database.

If DATABASE_URL is set, the tests use that server. If not, postgres_cluster.py starts a server.
On both servers, the tests run in a copy of a migrated template (database/template.py).
"""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import django
import hypothesis
import pytest
from django.conf import settings

from newsletter_site import embedded_postgres
from tests.postgres_cluster import KeptCluster

pytest_plugins = ["tests.tiers"]

# Unset every variable that the settings read, so that each has its default.
SETTINGS = Path(__file__).resolve().parent.parent / "newsletter_site" / "settings.py"
SERVER = {"DATABASE_URL", "HOMING_DATA_DIR", "HOMING_POSTGRES_BIN"}
for name in re.findall(r'"([A-Z]+_[A-Z_]+|DEBUG|PORT)"', SETTINGS.read_text()):
    if name not in SERVER:
        os.environ.pop(name, None)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # Child processes start faster from compiled code.
# Variables for which the tests need another value than the default.
ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "tests.settings",
    "ALLOWED_HOSTS": "testserver,localhost,127.0.0.1,letter.example.org",
    "DEBUG": "off",
    "DELIVERY_PROCESSES": "1",  # Tests kill, freeze and measure one process by its id.
    "POSTMARK_BASE_URL": "http://127.0.0.1:9",  # The discard port: nothing answers there.
    "POSTMARK_SERVER_TOKEN": "test-token",
    "PUBLISH_HOLD_S": "0",
    "SECRET_KEY": "a key for tests alone, long enough to be taken for one: 0123456789",
    "SITE_URL": "https://letter.example.org",
    # Do not use static files that were collected in the checkout.
    "STATIC_ROOT": "/nonexistent/staticfiles",
}
os.environ.update(ENVIRONMENT)

# Workers of pytest-xdist inherit the address from the process that started them.
kept_cluster = None
if not os.environ.get("DATABASE_URL"):
    # Remove these variables: libpq would read missing parameters from them, even the server's
    # address.
    for name in [name for name in os.environ if name.startswith("PG")]:
        del os.environ[name]
    kept_cluster = KeptCluster()
    os.environ["HOMING_DATA_DIR"] = str(kept_cluster.data_dir)
    os.environ["DATABASE_URL"] = embedded_postgres.database_url(kept_cluster.data_dir, "postgres")

# pytest-django sets Django up only if it finds the settings before it reads this file.
django.setup()


# Use the same examples in every run, so that a property fails only after a change. The examples
# still vary slightly, because Hypothesis also tries constants of loaded modules.  `make proofs
# PROOFS=properties` draws more examples, at random. There is no deadline, because the machine
# decides how long an example takes.
PROPERTIES = hypothesis.settings(
    deadline=None, database=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("tests", PROPERTIES, derandomize=True, max_examples=40)
hypothesis.settings.register_profile("fuzz", PROPERTIES, max_examples=2000)
hypothesis.settings.load_profile("tests")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse settings other than tests.settings, and start the database server."""
    if (module := settings.SETTINGS_MODULE) != ENVIRONMENT["DJANGO_SETTINGS_MODULE"]:
        raise pytest.UsageError(
            f"DJANGO_SETTINGS_MODULE is '{module}'. Unset it: the tests have settings of their own."
        )
    from tests.database.template import forget_given_database

    forget_given_database()
    if kept_cluster is not None:
        kept_cluster.start()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server, unless another run uses it."""
    if kept_cluster is not None:
        kept_cluster.end()


@pytest.fixture(autouse=True)
def no_signal_stays_blocked() -> Iterator[None]:
    """Fail a test that leaves signals blocked, and unblock them.

    A worker blocks signals permanently, and every process that is started later inherits the
    blocked signals.
    """
    yield
    blocked = signal.pthread_sigmask(signal.SIG_SETMASK, ())
    assert not blocked


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: Any) -> Iterator[None]:
    """Copy the migrated template for this process of the run."""
    from tests.database import remove_guard
    from tests.database.template import copied_database

    with ExitStack() as copy:
        # Unblock the database only for the copy. During the run, a test that uses the database
        # without a fixture must fail in any order of tests.
        with django_db_blocker.unblock():
            copy.enter_context(copied_database())
            remove_guard.take_out()
        yield
        with django_db_blocker.unblock():
            copy.close()


@pytest.fixture(scope="session")
def database_url(django_db_setup: None) -> str:
    """Return the DATABASE_URL of the test database, for child processes."""
    from django.db import connection

    name = connection.settings_dict["NAME"]
    parts = urlsplit(os.environ["DATABASE_URL"])
    return urlunsplit(parts._replace(path=f"/{name}"))
