"""Settings for the processes that are killed at crash points."""

from newsletter_site.settings import *  # noqa: F403
from newsletter_site.settings import DATABASES

DATABASES["default"]["ENGINE"] = "tests.crash_points.watched_database"
# Workers crash on purpose here. Hundreds of warnings about crashes would hide a real failure.
LOGGING = {
    "version": 1,
    "handlers": {"nowhere": {"class": "logging.NullHandler"}},
    "root": {"handlers": ["nowhere"]},
}

# This size is small enough for few points, and large enough to halve a batch.
DELIVERY_BATCH_SIZE = 3
# Tests shift stored times instead of waiting. The result must not depend on real time.
DELIVERY_HTTP_DEADLINE_S = 60.0
DELIVERY_LEASE_S = 60.0
DELIVERY_LOOKUP_AFTER_S = (60.0, 300.0)
DELIVERY_RETRY_BASE_S = 60.0
