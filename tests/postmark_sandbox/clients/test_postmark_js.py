"""The sandbox answers Postmark's own JavaScript client as Postmark does."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from postmark_sandbox.server import SandboxServer
from tests.installed_programs import program
from tests.postmark_sandbox.webhook_receiver import Receiver

pytestmark = pytest.mark.process

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the locked client; return the folder with a script that uses it."""
    npm = program("npm", package="npm")
    program("node", package="nodejs")
    folder = tmp_path_factory.mktemp("postmark_js")
    for name in ("package.json", "package-lock.json", "postmark_js.mjs"):
        shutil.copy(HERE / name, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            f"npm could not install Postmark's client:\n{run.stderr}"
        )
    return folder


@pytest.fixture(scope="module")
def answers(installed: Path) -> dict[str, Any]:
    """Return what the client made of the sandbox's answers, by name."""
    with SandboxServer() as server, Receiver() as receiver:
        run = subprocess.run(
            ["node", "postmark_js.mjs", f"127.0.0.1:{server.port}", f"{receiver.base}/hooks/"],
            cwd=installed,
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout))


def test_client_sends_and_reads_messages(answers: dict[str, Any]) -> None:
    sent = answers["sent"]
    assert (sent["ErrorCode"], sent["Message"]) == (0, "OK")
    assert [each["ErrorCode"] for each in answers["batch"]] == [0, 300]
    found = answers["search"]
    assert (found["TotalCount"], found["Messages"][1]["MessageID"]) == (2, sent["MessageID"])
    assert answers["details"]["Recipients"] == ["reader@example.net"]
    assert "High water at seven." in answers["dump"]["Body"]


@pytest.mark.parametrize(
    ("name", "error", "status", "code"),
    [
        ("inactive", "InactiveRecipientsError", 422, 406),
        ("no_stream", "ApiInputError", 422, 1235),
        ("unverified", "InvalidEmailRequestError", 422, 300),
        ("missing_bounce", "ApiInputError", 422, 1001),
        ("hook_missing", "ApiInputError", 422, 1352),
    ],
)
def test_client_knows_each_refusal(
    answers: dict[str, Any], name: str, error: str, status: int, code: int
) -> None:
    refused = answers[name]
    assert (refused["error"], refused["status"], refused["code"]) == (error, status, code)


def test_client_reads_the_inactive_address_from_the_text(answers: dict[str, Any]) -> None:
    assert answers["inactive"]["inactive"] == ["hardbounce@bounce-testing.postmarkapp.com"]


def test_client_finds_and_activates_a_bounce(answers: dict[str, Any]) -> None:
    (bounce,) = answers["bounces"]["Bounces"]
    # JavaScript rounds integers above 2**53. The id of another bounce would not be found.
    assert answers["bounce"] == bounce
    assert "Tide tables" in answers["bounce_dump"]["Body"]
    assert answers["activated"]["Bounce"] == bounce | {"Inactive": False}
    assert answers["statistics"]["Bounces"][0]["Count"] == 1


def test_client_changes_suppressions(answers: dict[str, Any]) -> None:
    streams = [each["ID"] for each in answers["streams"]["MessageStreams"]]
    assert answers["stream"]["ID"] in streams
    assert answers["suppressed"]["Suppressions"][0]["Status"] == "Suppressed"
    (entry,) = answers["suppressions"]["Suppressions"]
    assert (entry["EmailAddress"], entry["Origin"]) == ("left@example.net", "Customer")
    assert answers["lifted"]["Suppressions"][0]["Status"] == "Deleted"


def test_client_sets_up_a_webhook(answers: dict[str, Any]) -> None:
    created = answers["hook_created"]
    assert answers["hook"] == created
    edited = answers["hook_edited"]
    assert edited["Triggers"]["Bounce"]["Enabled"] is edited["Triggers"]["Delivery"]["Enabled"]
    assert answers["hooks"]["Webhooks"] == [edited]
    assert answers["hook_deleted"]["ErrorCode"] == 0
