"""
The image, made and run without a container engine: read-only, under a user without rights.

The commands are those of Dockerfile and docker-compose.yml, read from them.
"""

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from postmark_sandbox.server import SandboxServer
from tests.deployment.deployed_processes import free_port
from tests.deployment.image import ROOT, Image
from tests.deployment.served_site import FROM_THE_PROXY
from tests.faults.servers.cutting_proxy import CuttingProxy
from tests.faults.servers.postgres_server import OwnServer
from tests.faults.wait_until import eventually

PATIENCE_S = 100
PUBLISH = """
export DJANGO_SUPERUSER_PASSWORD='long enough for a test'
python manage.py createsuperuser --noinput --username=anna --email=anna@example.org
printf 'email\nada@example.net\nbea@example.net\n' > /tmp/readers.csv
python manage.py import_subscribers /tmp/readers.csv --confirmed
printf '<p>Dear {{ name|reader }}</p>' > /tmp/letter.html
python manage.py publish --title Swifts --html-file /tmp/letter.html
"""


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """Made once, in a folder that its user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="homing-image-", dir="/var/tmp"))
    yield Image(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def settings_of_a_container(django_db_blocker: Any) -> Iterator[dict[str, str]]:
    """The variables of `.env`, with an empty database that is reached over TCP."""
    with django_db_blocker.unblock(), SandboxServer() as provider:
        server = OwnServer()
        line = CuttingProxy(server.socket)
        with server.admin() as admin:
            admin.execute("CREATE DATABASE empty")
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
        server.remove()


def service(name: str) -> dict[str, Any]:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    found: dict[str, Any] = services[name]
    return found


class Containers:
    """Processes of the image, each with the same settings."""

    def __init__(self, image: Image, settings: dict[str, str]) -> None:
        self._image = image
        self.settings = settings
        self._running: list[subprocess.Popen[str]] = []

    def begin(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        process = self._image.start(*command, settings=self.settings, **options)
        self._running.append(process)
        return process

    def tried(self, *command: str) -> tuple[int, str]:
        """One command, to its end: its exit code and what it said."""
        process = self.begin(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = process.communicate(timeout=PATIENCE_S)[0]
        return process.returncode, said

    def run(self, *command: str) -> str:
        """One command, to its end; what it said. It has to go well."""
        code, said = self.tried(*command)
        assert code == 0, f"{command}: {code}\n{said}"
        return said

    def come_well(self, name: str, port: int = 8000) -> None:
        """Wait until a service's own health check goes well."""
        test = service(name)["healthcheck"]["test"]
        check = shlex.split(test) if isinstance(test, str) else [str(part) for part in test[1:]]
        command = [part.replace(":8000", f":{port}") for part in check]
        eventually(lambda: self.tried(*command)[0] == 0, f"the {name} is well")

    def end(self) -> None:
        for process in self._running:
            process.terminate()
        for process in self._running:
            process.wait(PATIENCE_S)


@pytest.fixture
def containers(image: Image, settings_of_a_container: dict[str, str]) -> Iterator[Containers]:
    containers = Containers(image, settings_of_a_container)
    yield containers
    containers.end()


@pytest.mark.timeout(400)
def test_an_issue_is_published_and_delivered_by_the_commands_of_the_compose_file(
    containers: Containers, image: Image
) -> None:
    # The root file system is read-only, and its user has no rights.
    said = containers.run("sh", "-c", "id -u; touch /tmp/a && echo tmp; touch here || echo no")
    assert (*said.splitlines()[:2], said.splitlines()[-1]) == ("10001", "tmp", "no")

    containers.run(*shlex.split(service("migrate")["command"]))

    port = free_port()
    containers.settings["PORT"] = str(port)
    containers.begin(*image.command)
    containers.come_well("web", port)
    page = requests.get(f"http://127.0.0.1:{port}/", headers=FROM_THE_PROXY, timeout=PATIENCE_S)
    assert page.status_code == 200
    assert "/static/homing." in page.text

    containers.run("sh", "-ec", PUBLISH)

    worker = containers.begin(*shlex.split(service("worker")["command"]))
    containers.come_well("worker")
    summary = containers.settings["POSTMARK_BASE_URL"] + "/__sandbox__/summary"
    eventually(
        lambda: bool(requests.get(summary, timeout=PATIENCE_S).json()["accepted"] == 2),
        "both readers had their copy",
    )
    assert worker.poll() is None
    containers.run("python", "manage.py", "audit")
