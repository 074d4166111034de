"""Settings of the made-up next release: the current settings, with its migrations."""

from newsletter_site.settings import *  # noqa: F403
from newsletter_site.settings import MIGRATION_MODULES

MIGRATION_MODULES = {**MIGRATION_MODULES, "delivery": "tests.faults.next_release.migrations"}
