"""A fuzzer tests the API against its OpenAPI document.

The site is real, on loopback, with the test database. schemathesis.toml gives the reason for each
disabled check. `make proofs PROOFS=fuzz` sets `FUZZ_EXAMPLES` for a longer run.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from delivery.models import Edition
from delivery.queue.edition_control import cancel
from newsletter_site.api.openapi_document import document
from publishing.models import Export, IssueMove
from subscribers.models import ReaderFieldDefinition, Subscriber, SubscriberImport, Tag
from subscribers.models.fields_and_tags import MOST_FIELDS
from tests.newsletter_site.api_caller import Program
from tests.publishing.content_factory import letter
from tests.publishing.publish_with import publish
from tests.publishing.schedule_issue import tomorrow
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "2"))
SEED = int(os.environ.get("FUZZ_SEED", "20261122"))
# The fuzzer takes a minute, or many minutes on a busy machine, and ends automatically.
PATIENCE_S = 900 if EXAMPLES <= 2 else 7200
CONFIG = Path(__file__).with_name("schemathesis.toml")
HOOKS = Path(__file__).with_name("api_fuzzing_hooks.py")
# Most actions succeed only once for each object, so each action needs several objects.
OF_EACH = 30

pytestmark = [pytest.mark.process, pytest.mark.django_db, pytest.mark.timeout(PATIENCE_S + 30)]


@pytest.fixture
def proxy(settings: Any) -> str:
    """Return the header with which a proxy says that a request arrived over TLS."""
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    return "X-Forwarded-Proto: https"


@pytest.fixture
def everybody_s_program(transactional_db: None) -> Program:
    root = get_user_model().objects.create_superuser("root", password="a long password")
    for state in Subscriber.State:
        SubscriberFactory(state=state)
    for number in range(1, MOST_FIELDS // 2):
        ReaderFieldDefinition.objects.create(key=f"f{number}", label="F", position=number)
    for number in range(OF_EACH):
        Tag.objects.create(name=f"T{number}")
        edition = publish(root.pk, f"a key {number}", letter(), hold_s=3600).edition
        if number % 3 == 0:
            cancel(edition.pk)  # a finished edition has a receipt
        SubscriberFactory(state="confirmed")
        SubscriberImportFactory(
            state="checked", confirmed=False, finished_at=None, checked_at=timezone.now()
        )
        Export.objects.create(state="finished", finished_at=timezone.now())
        IssueMove.objects.create(state="finished", filename="a.zip", finished_at=timezone.now())
        SubscriberImportFactory()
    at = tomorrow("UTC")
    for number in range(OF_EACH // 3):
        publish(root.pk, f"a time {number}", letter(), hold_s=0, at=at)
    return Program(root)


def places() -> dict[str, list[str]]:
    """Return existing ids, with the names of the path parameters as keys."""
    imports = SubscriberImport.objects.order_by("pk")
    issues = Edition.objects.filter(kind=Edition.Kind.NEWSLETTER)
    return {
        "issue": [str(edition.issue_id) for edition in issues.order_by("pk")],
        "scheduled": [str(edition.issue_id) for edition in issues.filter(control="scheduled")],
        "reader": [str(reader.pk) for reader in Subscriber.objects.order_by("pk")],
        "key": [field.key for field in ReaderFieldDefinition.objects.order_by("position")],
        "tag": [str(tag.pk) for tag in Tag.objects.order_by("pk")],
        "export_id": [str(export.pk) for export in Export.objects.order_by("pk")],
        "move_id": [str(move.pk) for move in IssueMove.objects.order_by("pk")],
        "import_id": [str(record.pk) for record in imports.filter(state="checked")],
        "ended": [str(record.pk) for record in imports.filter(state="finished")],
    }


def never_done(report: Path) -> list[str]:
    """Return the operations that never succeeded, because these are not really tested."""
    done = set()
    for line in report.read_text().splitlines():
        recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
        for case, exchange in recorder.get("interactions", {}).items():
            if exchange["response"] and exchange["response"]["status_code"] < 300:
                asked = recorder["cases"][case]["value"]
                done.add((asked["method"].lower(), asked["path"]))
    return sorted(
        operation["operationId"]
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
        if (method, path) not in done
    )


def test_the_fuzzer_finds_no_errors(
    proxy: str, everybody_s_program: Program, live_server: Any, tmp_path: Path
) -> None:
    report = tmp_path / "events.ndjson"
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG)),
            *("run", f"{live_server.url}/api/v1/openapi.json"),
            *("--header", f"Authorization: Bearer {everybody_s_program.token}"),
            *("--header", proxy),
            *("--seed", str(SEED), "--max-examples", str(EXAMPLES)),
            *("--checks", "all", "--continue-on-failure", "--no-color"),
            *("--report", "ndjson", "--report-ndjson-path", str(report)),
        ],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS), "FUZZ_PLACES": json.dumps(places())},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-100_000:] + done.stderr[-2000:]
    assert never_done(report) == []
