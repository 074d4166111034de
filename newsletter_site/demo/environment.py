"""The environment of the demo's children: its own addresses, nothing that leads elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

# Time enough for a person to call back what they published. The demo does not wait for its end.
HOLD_S = 20

# Empty counts as unset. A real token must not travel, a real stream is not there, and options
# meant for another web server would be taken for the demo's.
NOT_FOR_THE_DEMO = (
    "ALLOWED_HOSTS",
    "GUNICORN_CMD_ARGS",
    "POSTMARK_BROADCAST_STREAM",
    "POSTMARK_SERVER_TOKEN",
    "POSTMARK_TRANSACTIONAL_STREAM",
    "TRUST_PROXY",
    "UNSUBSCRIBE_HANDLING",
)


def childrens_environment(folder: Path, **of_the_demo: str) -> dict[str, str]:
    """What the children's settings read: our own environment, handed on with these differences."""
    return {
        **os.environ,
        **dict.fromkeys(NOT_FOR_THE_DEMO, ""),
        "DEBUG": "on",
        "DJANGO_SETTINGS_MODULE": "newsletter_site.settings",
        "HOMING_DATA_DIR": str(folder),
        "PUBLISH_HOLD_S": str(HOLD_S),
        **of_the_demo,
    }
