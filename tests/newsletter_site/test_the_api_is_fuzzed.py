"""
A fuzzer asks the API whatever its document allows and forbids, and finds nothing against it.

The site is real, on loopback, with the test database. Which checks are off, and why, stands in
schemathesis.toml beside this file. `make fuzz` asks for longer (`FUZZ_EXAMPLES`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from publishing.publish import publish
from subscribers.models import Subscriber
from tests.newsletter_site.calling import Program
from tests.publishing.letters import letter
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "6"))
SEED = int(os.environ.get("FUZZ_SEED", "20261122"))
# It takes a minute; a busy machine may take several. It ends by itself.
PATIENCE_S = 480 if EXAMPLES <= 6 else 7200
CONFIG = Path(__file__).with_name("schemathesis.toml")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(PATIENCE_S + 30)]


@pytest.fixture
def proxy(settings: Any) -> str:
    """The live server speaks no TLS: the header by which a proxy says that it did."""
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    return "X-Forwarded-Proto: https"


@pytest.fixture
def everybody_s_program(transactional_db: None) -> Program:
    """A program that may do everything, on a list with something in it."""
    root = get_user_model().objects.create_superuser("root", password="a long password")
    for state in Subscriber.State:
        SubscriberFactory(state=state)
    publish(root.pk, "a key", letter(), hold_s=60)
    SubscriberImportFactory()
    return Program(root)


def test_a_fuzzer_finds_nothing(
    proxy: str, everybody_s_program: Program, live_server: Any, tmp_path: Path
) -> None:
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG)),
            *("run", f"{live_server.url}/api/v1/openapi.json"),
            *("--header", f"Authorization: Bearer {everybody_s_program.token}"),
            *("--header", proxy),
            *("--seed", str(SEED), "--max-examples", str(EXAMPLES)),
            *("--checks", "all", "--continue-on-failure", "--no-color"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-100_000:] + done.stderr[-2000:]
