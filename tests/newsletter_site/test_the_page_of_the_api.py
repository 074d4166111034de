"""The examples of docs/api.md, run as they stand there, in their order, against a real site."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from subscribers.importing import background
from tests.newsletter_site.calling import Program
from tests.subscribers.factories import SubscriberFactory

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text()
EXAMPLES = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
SITE = "https://letter.example.org"
LIST = "email,name\nada@weir.example.org,Ada\nnobody,X\n"

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]


def test_every_example_works(
    transactional_db: None, settings: Any, live_server: Any, tmp_path: Path
) -> None:
    if shutil.which("curl") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "No curl was found on this machine, and these are examples for it."
        )
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SubscriberFactory.create_batch(3)
    program = Program(get_user_model().objects.create_superuser("root"))
    (tmp_path / "readers.csv").write_text(LIST)
    known = {"TOKEN": program.token}
    statuses = []
    for example in EXAMPLES:
        assert example.startswith("curl ")
        if "/receipt/" in example:
            # An issue comes to rest once somebody calls its last version back, or it has gone out.
            program.post(f"/issues/{known['ISSUE']}/cancel/?version=2")
        call = example.replace("curl ", "curl -sS -w '\\n%{http_code}' ", 1).replace(
            SITE, live_server.url
        )
        done = subprocess.run(
            ["bash", "-c", f"{call.rstrip()} -H 'X-Forwarded-Proto: https'"],
            cwd=tmp_path,
            env={**os.environ, **known},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        body, _, status = done.stdout.rpartition("\n")
        assert int(status) in (200, 201), (example, done.stdout)
        statuses.append(int(status))
        if body.startswith("{"):
            told = json.loads(body)
            known |= {
                name.upper(): str(told[name])
                for name in ("issue", "reader", "import")
                if told.get(name) is not None
            }
        while background.work(lambda: False):
            pass
    assert statuses.count(201) == 4
    assert len(statuses) == len(EXAMPLES)
