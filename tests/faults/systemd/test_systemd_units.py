"""The shipped units on a real systemd, with the restrictions of their services."""

import json
import re
import socket
from collections.abc import Iterator

import pytest
import requests

from tests.deployment.served_site import FROM_THE_PROXY
from tests.faults.delivery_stack import Stage
from tests.faults.servers.cutting_proxy import CuttingProxy
from tests.faults.systemd.systemd_machine import SystemdMachine, systemd_machine
from tests.faults.test_killed_workers import LONG
from tests.faults.wait_until import eventually, held
from tests.postgres_cluster import ROOT

READERS = 20
SETTINGS = {
    "SECRET_KEY": "a-key-of-fifty-characters-that-only-this-machine-knows",
    "SITE_URL": "https://letter.example.org",
    "FROM_EMAIL": "letter@example.org",
    "POSTMARK_SERVER_TOKEN": "sandbox",
    "TRUST_PROXY": "on",
    "DELIVERY_PROCESSES": "1",
    "WEB_CONCURRENCY": "1",
    "DELIVERY_NICENESS": "0",
}
UNITS = ("homing-web.socket", "homing-web", "homing-worker@1", "homing-migrate")
# This program runs the parts of Homing that a restriction might break: it draws an SVG image and
# limits the memory of a process.
NEEDED = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "newsletter_site.settings"
django.setup()
from delivery.tasks.separate_process import limit_memory
from publishing.look.draw_svg import draw_svg
limit_memory()
assert draw_svg(b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')[1:4] == b"PNG"
"""


@pytest.fixture(scope="module")
def booted() -> Iterator[SystemdMachine]:
    with systemd_machine() as machine:
        yield machine


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def machine(
    booted: SystemdMachine, stage: Stage, proxy: CuttingProxy, port: int
) -> Iterator[SystemdMachine]:
    """Install the units for this test's database and provider; stop them at the end."""
    where = {"DATABASE_URL": stage.proxied(proxy), "POSTMARK_BASE_URL": stage.provider.url}
    booted.install(port, SETTINGS | LONG | where)
    yield booted
    booted.must("systemctl", "stop", "homing.target", *UNITS)


def test_call_of_a_killed_unit_is_found_at_once(stage: Stage, machine: SystemdMachine) -> None:
    edition = stage.newsroom.publish(READERS)
    stage.sandbox.set_fault("hold", moment="after_accept", calls=1)
    machine.must("systemctl", "start", "homing-worker@1")
    held(stage.provider)
    machine.must("systemctl", "kill", "--signal=KILL", "homing-worker@1")
    eventually(lambda: stage.newsroom.counts(edition).sent == READERS, "the other worker has asked")
    stage.all_got_one(edition, READERS)


def test_hidden_boot_id_is_a_problem_that_health_checks_show(machine: SystemdMachine) -> None:
    drop_in = "/etc/systemd/system/homing-worker@1.service.d/hidden.conf"
    machine.write(drop_in, "[Service]\nProcSubset=pid\n")
    machine.must("systemctl", "daemon-reload")
    machine.must("systemctl", "start", "homing-worker@1")
    eventually(lambda: "boot id" in machine.homing("health", "workers"), "the worker reports it")
    machine.must("rm", drop_in)


def test_target_starts_everything_and_stops_it_for_good(
    machine: SystemdMachine, port: int, stage: Stage
) -> None:
    machine.homing("collectstatic", "--noinput", "--verbosity=0")
    machine.must("systemctl", "start", "homing.target")
    address = f"http://127.0.0.1:{port}/health/ready/"
    assert requests.get(address, headers=FROM_THE_PROXY, timeout=100).json()["status"] == "ok"
    eventually(lambda: '"ok"' in machine.homing("health", "workers"), "the worker has started")
    assert "warnings" not in json.loads(machine.homing("health", "workers").splitlines()[-1])
    # Stop all units by name: if only the target were named, systemctl would not wait until the
    # services have ended.
    machine.must("systemctl", "stop", "homing*")
    for unit in UNITS:
        assert machine.run("systemctl", "is-active", unit)[1] == "inactive", unit
    with pytest.raises(requests.ConnectionError):
        requests.get(address, headers=FROM_THE_PROXY, timeout=100)


@pytest.mark.parametrize("name", ["homing-web.service", "homing-worker@.service"])
def test_services_may_do_what_their_code_needs(machine: SystemdMachine, name: str) -> None:
    unit = (ROOT / "deploy" / "systemd" / name).read_text()
    unit = re.sub(r"(?m)^(NotifyAccess|Restart|Requires|After)=.*\n", "", unit)
    unit = re.sub(r"(?m)^Type=.*", "Type=oneshot", unit)
    unit = re.sub(r"(?m)^ExecStart=.*", "ExecStart=/opt/homing/.venv/bin/python needed.py", unit)
    machine.write("/opt/homing/needed.py", NEEDED)
    machine.write("/etc/systemd/system/homing-needed.service", unit.replace("%i", "1"))
    machine.must("systemctl", "daemon-reload")
    machine.must("systemctl", "start", "homing-needed")
