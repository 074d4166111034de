"""The settings of that release: of today, with migrations of delivery that are still to come."""

from newsletter_site.settings import *  # noqa: F403
from newsletter_site.settings import MIGRATION_MODULES

MIGRATION_MODULES = {**MIGRATION_MODULES, "delivery": "tests.faults.next_release.migrations"}
