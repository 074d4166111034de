"""Settings of that release: today's, with later migrations of delivery."""

from newsletter_site.settings import *  # noqa: F403
from newsletter_site.settings import MIGRATION_MODULES

MIGRATION_MODULES = {**MIGRATION_MODULES, "delivery": "tests.faults.next_release.migrations"}
