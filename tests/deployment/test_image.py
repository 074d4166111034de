"""The image, built and run without a container engine.

It is read-only and runs under an unprivileged user. The commands are those of Dockerfile and
docker-compose.yml.
"""

import re
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
    """Build the image once, in a folder that its user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="homing-image-", dir="/var/tmp"))
    yield Image(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def settings_of_a_container(django_db_blocker: Any) -> Iterator[dict[str, str]]:
    """Return the variables of `.env`, with an empty database over TCP."""
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
        """Run one command to its end; return its exit code and output."""
        process = self.begin(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = process.communicate(timeout=PATIENCE_S)[0]
        return process.returncode, output

    def run(self, *command: str) -> str:
        """Run one command, which must succeed; return its output."""
        code, output = self.tried(*command)
        assert code == 0, f"{command}: {code}\n{output}"
        return output

    def wait_until_healthy(
        self, name: str, container: subprocess.Popen[str], port: int = 8000
    ) -> None:
        """Wait until a service's own health check passes in its container."""
        test = service(name)["healthcheck"]["test"]
        check = ["sh", "-c", test] if isinstance(test, str) else [str(part) for part in test[1:]]
        command = [part.replace(":8000", f":{port}") for part in check]
        inside = ("nsenter", "--target", str(container.pid), "--mount", "--root", "--wd")
        environment = self._image.environment
        eventually(
            lambda: subprocess.run([*inside, *command], env=environment).returncode == 0,
            f"the health check of {name} passes",
        )

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
def test_compose_commands_publish_and_deliver_an_issue(
    containers: Containers, image: Image
) -> None:
    # The root file system is read-only, and its user is unprivileged.
    output = containers.run("sh", "-c", "id -u; touch /tmp/a && echo tmp; touch here || echo no")
    assert (*output.splitlines()[:2], output.splitlines()[-1]) == ("10001", "tmp", "no")

    # The release is known without settings, git and network.
    version = containers.run("python", "manage.py", "--version").splitlines()[0]
    assert re.fullmatch(r"Homing \S+ \(0123456789ab\)", version), version

    containers.run(*shlex.split(service("migrate")["command"]))

    port = free_port()
    containers.settings["PORT"] = str(port)
    web = containers.begin(*image.command)
    containers.wait_until_healthy("web", web, port)
    page = requests.get(f"http://127.0.0.1:{port}/", headers=FROM_THE_PROXY, timeout=PATIENCE_S)
    assert page.status_code == 200
    assert "/static/homing." in page.text

    containers.run("sh", "-ec", PUBLISH)

    worker = containers.begin(*shlex.split(service("worker")["command"]))
    containers.wait_until_healthy("worker", worker)
    summary = containers.settings["POSTMARK_BASE_URL"] + "/__sandbox__/summary"
    eventually(
        lambda: bool(requests.get(summary, timeout=PATIENCE_S).json()["accepted"] == 2),
        "both readers have their copy",
    )
    assert worker.poll() is None
    containers.run("python", "manage.py", "audit")


def test_a_container_without_settings_names_them_in_one_line(
    containers: Containers, image: Image
) -> None:
    containers.settings = {}
    sentence = (
        "homing: SITE_URL, SECRET_KEY, POSTMARK_SERVER_TOKEN and DATABASE_URL are not set; "
        "expected all of them, because DEBUG is off.\n"
    )
    for command in (image.command, shlex.split(service("worker")["command"])):
        assert containers.tried(*command) == (1, sentence)
