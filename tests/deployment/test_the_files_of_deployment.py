"""Dockerfile, compose file, units and proxy: each is read by the program that it is for."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from newsletter_site import settings
from tests.deployment.programs import program

ROOT = Path(__file__).resolve().parents[2]
SYSTEMD = ROOT / "deploy" / "systemd"
UNITS = sorted(path.name for path in SYSTEMD.iterdir())
SERVICES = [name for name in UNITS if name.endswith(".service")]
BIN = Path(sys.executable).parent
# `systemd-analyze security` counts what a service may do, from 0.0 (nothing) to 10.0 (all).
MOST_EXPOSED = 20  # tenths


def run(*command: str | Path) -> str:
    """What a program says, which must find nothing wrong."""
    done = subprocess.run(
        [str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The compose file, with its shared parts written into each service."""
    read: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return read


# --- The image -----------------------------------------------------------------------------------


def test_nothing_is_wrong_with_the_dockerfile() -> None:
    assert run(BIN / "hadolint", "Dockerfile") == ""


def test_the_image_runs_as_a_user_without_rights() -> None:
    [user] = re.findall(r"^USER (.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)


def test_the_image_holds_the_production_lock_alone() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert re.findall(r"requirements/\w+\.txt", dockerfile) == ["requirements/production.txt"] * 2
    assert "--require-hashes" in dockerfile


# --- Compose -------------------------------------------------------------------------------------


def test_the_compose_file_fits_the_schema_of_compose_files() -> None:
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml")


@pytest.mark.parametrize("service", ["migrate", "web", "worker"])
def test_a_container_of_ours_may_do_next_to_nothing(compose: dict[str, Any], service: str) -> None:
    written = compose["services"][service]
    assert written["read_only"] is True
    assert written["cap_drop"] == ["ALL"]
    assert written["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("service", ["web", "worker"])
def test_site_and_workers_begin_when_the_migrations_have_ended(
    compose: dict[str, Any], service: str
) -> None:
    waits_for = compose["services"][service]["depends_on"]["migrate"]
    assert waits_for == {"condition": "service_completed_successfully"}


@pytest.mark.parametrize("service", ["postgres", "web", "worker"])
def test_what_stays_up_is_looked_after(compose: dict[str, Any], service: str) -> None:
    written = compose["services"][service]
    assert written["restart"] == "unless-stopped"
    assert written["healthcheck"]["test"]


def test_the_site_is_open_to_its_own_machine_alone(compose: dict[str, Any]) -> None:
    assert compose["services"]["web"]["ports"] == ["127.0.0.1:8000:8000"]
    assert "ports" not in compose["services"]["postgres"]


# --- How long things get to end ------------------------------------------------------------------


def in_seconds(written: str) -> int:
    """`150s` as a number."""
    found = re.fullmatch(r"(\d+)s?", written)
    assert found, written
    return int(found[1])


def directive(unit: str, name: str) -> str:
    """What a unit says under a name."""
    [found] = re.findall(rf"^{name}=(.*)$", (SYSTEMD / unit).read_text(), re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("place", ["compose", "systemd"])
def test_a_worker_may_finish_its_call_before_it_is_killed(
    compose: dict[str, Any], place: str
) -> None:
    written = (
        compose["services"]["worker"]["stop_grace_period"]
        if place == "compose"
        else directive("homing-worker@.service", "TimeoutStopSec")
    )
    assert in_seconds(written) >= settings.DELIVERY_HTTP_DEADLINE_S + 10


@pytest.mark.parametrize("place", ["compose", "systemd"])
def test_the_site_may_finish_its_answers_before_it_is_killed(
    compose: dict[str, Any], place: str
) -> None:
    server: dict[str, Any] = {}
    exec((ROOT / "deploy" / "gunicorn.conf.py").read_text(), server)  # noqa: S102 -- ours
    written = (
        compose["services"]["web"]["stop_grace_period"]
        if place == "compose"
        else directive("homing-web.service", "TimeoutStopSec")
    )
    assert in_seconds(written) > server["graceful_timeout"]
    assert server["timeout"] > settings.IDEMPOTENCY_WAIT_S


# --- systemd -------------------------------------------------------------------------------------


def installed(folder: Path) -> Path:
    """The units as they would be found, with programs that are on this machine."""
    for name in UNITS:
        text = (SYSTEMD / name).read_text()
        (folder / name).write_text(re.sub(r"/opt/homing/\.venv/bin/\w+", "/bin/true", text))
    return folder


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    analyze = program("systemd-analyze", package="systemd")
    units = [
        tmp_path / name.replace("@.", "@1.") if name.endswith("@.service") else tmp_path / name
        for name in UNITS
    ]
    installed(tmp_path)
    assert run(analyze, "verify", "--man=no", *units) == ""


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_may_do_next_to_nothing(service: str, tmp_path: Path) -> None:
    analyze = program("systemd-analyze", package="systemd")
    unit = installed(tmp_path) / service
    run(analyze, "security", "--offline=yes", f"--threshold={MOST_EXPOSED}", unit)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_runs_as_a_user_of_its_own_with_the_settings_of_one_file(service: str) -> None:
    assert directive(service, "User") == "homing"
    assert directive(service, "EnvironmentFile") == "/etc/homing/homing.env"


def test_every_service_is_part_of_the_target() -> None:
    wanted = directive("homing.target", "Wants")
    for service in SERVICES:
        assert service.replace("@.", "@1.") in wanted
        assert directive(service, "PartOf") == "homing.target"


# --- The proxy -----------------------------------------------------------------------------------


def test_nginx_finds_nothing_wrong_with_the_proxys_configuration(tmp_path: Path) -> None:
    nginx = program("nginx", package="nginx")
    certificate(tmp_path)
    site = (ROOT / "deploy" / "nginx" / "homing.conf").read_text()
    site = re.sub(r"/etc/letsencrypt/live/[^/]+/", f"{tmp_path}/", site)
    site = site.replace("/var/log/nginx/", f"{tmp_path}/")
    (tmp_path / "site.conf").write_text(site)
    shutil.copy(ROOT / "deploy" / "nginx" / "homing-proxy.conf", tmp_path)
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; error_log stderr; events {{}}\n"
        f"http {{ include {tmp_path}/site.conf; }}\n"
    )
    said = run(nginx, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf")
    assert "[warn]" not in said


def certificate(folder: Path) -> None:
    """A key and a certificate, of no worth."""
    openssl = program("openssl", package="openssl")
    run(
        *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-nodes", "-days", "1", "-subj", "/CN=letter.example.org"),
        *("-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"),
    )


def test_the_proxy_lets_through_what_the_site_takes() -> None:
    text = (ROOT / "deploy" / "nginx" / "homing.conf").read_text()
    _, tls = text.split("listen 443 ssl", 1)
    forms, files = (int(size) * 1024 * 1024 for size in re.findall(r"max_body_size (\d+)m", tls))
    assert forms > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    assert files > settings.IMPORT_MAX_MB * 1024 * 1024
