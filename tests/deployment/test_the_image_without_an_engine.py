"""
The image, made and run without a container engine: read-only, under a user without rights.

The commands are those of Dockerfile and docker-compose.yml, read from them.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from postmark_sandbox.server import SandboxServer
from tests.deployment.image import ROOT, Image
from tests.deployment.parts import free_port
from tests.deployment.served_site import FROM_THE_PROXY
from tests.faults.cutting_proxy import CuttingProxy
from tests.faults.own_server import OwnServer
from tests.faults.waiting_for import eventually

PATIENCE_S = 100


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """Made once, in a folder that its user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="homing-image-", dir="/var/tmp"))
    yield Image(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def server(django_db_blocker: Any) -> Iterator[OwnServer]:
    """A PostgreSQL of these tests' own, to be reached over TCP as a container reaches one."""
    with django_db_blocker.unblock():
        server = OwnServer()
        yield server
        server.remove()


@pytest.fixture
def settings_of_a_container(server: OwnServer) -> Iterator[dict[str, str]]:
    """The variables of `.env`, with an empty database."""
    line = CuttingProxy(server.socket)
    with server.admin() as admin:
        admin.execute("CREATE DATABASE empty")
    with SandboxServer() as provider:
        yield {
            "DATABASE_URL": line.url(server.password, "empty"),
            "SECRET_KEY": "a key for tests alone, long enough to be taken for one: 0123456789",
            "POSTMARK_SERVER_TOKEN": "sandbox",
            "POSTMARK_BASE_URL": provider.url,
            "SITE_URL": "https://letter.example.org",
            "ALLOWED_HOSTS": "letter.example.org",
            "TRUST_PROXY": "on",
            "PUBLISH_HOLD_S": "0",
        }
    line.close()
    with server.admin() as admin:
        admin.execute("DROP DATABASE empty WITH (FORCE)")


def service(name: str) -> dict[str, Any]:
    """A service of the compose file."""
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    found: dict[str, Any] = services[name]
    return found


def health_check(name: str) -> list[str]:
    """The command by which a container is asked whether it is well."""
    test = service(name)["healthcheck"]["test"]
    return shlex.split(test) if isinstance(test, str) else [str(part) for part in test[1:]]


class Containers:
    """Processes of the image, each with the same settings."""

    def __init__(self, image: Image, settings: dict[str, str]) -> None:
        self._image = image
        self.settings = settings
        self._running: list[subprocess.Popen[str]] = []

    def run(self, *command: str) -> str:
        """One command, to its end; what it said. It has to go well."""
        process = self._image.start(
            *command,
            settings=self.settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        said, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, f"{command}: {process.returncode}\n{said}"
        return str(said)

    def goes_well(self, *command: str) -> bool:
        """Whether a command ends with 0."""
        process = self._image.start(
            *command,
            settings=self.settings,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return process.wait(PATIENCE_S) == 0

    def begin(self, *command: str) -> subprocess.Popen[str]:
        """A process that stays."""
        process = self._image.start(*command, settings=self.settings)
        self._running.append(process)
        return process

    def end(self) -> None:
        """End whatever stays."""
        for process in self._running:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        for process in self._running:
            process.wait(PATIENCE_S)


@pytest.fixture
def containers(image: Image, settings_of_a_container: dict[str, str]) -> Iterator[Containers]:
    """Ended with the test."""
    containers = Containers(image, settings_of_a_container)
    yield containers
    containers.end()


@pytest.mark.timeout(400)
def test_its_root_file_system_is_read_only_and_its_user_has_no_rights(
    containers: Containers,
) -> None:
    said = containers.run(
        *("sh", "-c", "id -u; touch /tmp/a && echo tmp; touch here || echo read-only"),
    )
    assert said.splitlines()[:2] == ["10001", "tmp"]
    assert said.splitlines()[-1] == "read-only"


@pytest.mark.timeout(400)
def test_an_issue_is_published_and_delivered_by_the_commands_of_the_compose_file(
    containers: Containers, image: Image
) -> None:
    containers.run(*shlex.split(service("migrate")["command"]))

    port = str(free_port())
    containers.settings["PORT"] = port
    containers.begin(*image.command)
    well = [part.replace(":8000", f":{port}") for part in health_check("web")]
    eventually(lambda: containers.goes_well(*well), "the site's own health check went well")
    page = requests.get(f"http://127.0.0.1:{port}/", headers=FROM_THE_PROXY, timeout=PATIENCE_S)
    assert page.status_code == 200
    assert "/static/homing." in page.text

    containers.run(
        *("env", "DJANGO_SUPERUSER_PASSWORD=long enough for a test", "python", "manage.py"),
        *("createsuperuser", "--noinput", "--username=anna", "--email=anna@example.org"),
    )
    letter = "printf '<p>Dear {{ name|reader }}</p>' > /tmp/letter.html && "
    readers = "printf 'email\\nada@example.net\\nbea@example.net\\n' > /tmp/readers.csv && "
    containers.run("sh", "-ec", readers + "python manage.py import_subscribers /tmp/readers.csv "
                   "--confirmed")  # fmt: skip
    containers.run("sh", "-ec", letter + "python manage.py publish --title Swifts "
                   "--html-file /tmp/letter.html")  # fmt: skip

    command = shlex.split(service("worker")["command"])
    worker = containers.begin(*command)
    eventually(
        lambda: containers.goes_well(*health_check("worker")), "the worker's own check went well"
    )
    with requests.Session() as control:
        address = containers.settings["POSTMARK_BASE_URL"] + "/__sandbox__/summary"

        def both_have_theirs() -> bool:
            return bool(control.get(address, timeout=PATIENCE_S).json()["accepted"] == 2)

        eventually(both_have_theirs, "both readers had their copy")
    assert worker.poll() is None
    assert containers.goes_well("python", "manage.py", "audit")
