"""The environment for programs of the proofs, which run outside the tests."""

import os

# The shell's variables that the proofs need.
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "HOMING_POSTGRES_BIN")
ENVIRONMENT = {
    "DEBUG": "off",
    "SECRET_KEY": "a key for tests alone, long enough to be taken for one: 0123456789",
    "POSTMARK_SERVER_TOKEN": "sandbox",
    "SITE_URL": "https://letter.example.org",
    "PUBLISH_HOLD_S": "0",
}


def clean_environment(**more: str) -> None:
    """Set the environment, for this process and its children."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    os.environ.clear()
    os.environ.update(kept | ENVIRONMENT | more)
