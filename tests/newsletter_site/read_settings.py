"""Read the settings again, with the environment variables that a test sets."""

import os
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "newsletter_site" / "settings.py"

# The variables that an operator must set.
REAL = {
    "DATABASE_URL": "postgres://homing:hunter2@db.example.org:5432/homing",
    "SECRET_KEY": "a long random text that nobody knows, of fifty characters and more",
    "POSTMARK_SERVER_TOKEN": "0a1b2c3d-token",
    "SITE_URL": "https://letter.example.org",
}

ReadSettings = Callable[..., dict[str, Any]]


def read_settings(data_dir: Path, monkeypatch: pytest.MonkeyPatch, **variables: str) -> Any:
    """Return all settings under exactly these variables, with data in `data_dir`."""
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in {"HOMING_DATA_DIR": str(data_dir), **variables}.items():
        monkeypatch.setenv(name, value)
    return runpy.run_path(str(SETTINGS))
