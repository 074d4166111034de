"""Dockerfile, compose file, units and proxy, each read by its own program."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from newsletter_site import settings
from newsletter_site.serving.site_server import GRACEFUL_S
from tests.deployment.nginx_proxy import certificate
from tests.installed_programs import program

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
PROXY = (ROOT / "deploy" / "nginx" / "homing.conf").read_text()
SYSTEMD = ROOT / "deploy" / "systemd"
UNITS = sorted(path.name for path in SYSTEMD.iterdir())
SERVICES = [name for name in UNITS if name.endswith(".service")]
BIN = Path(sys.executable).parent
# `systemd-analyze security` rates a service's rights from 0.0 (none) to 10.0 (all).
MOST_EXPOSED = 20  # tenths


def run(*command: str | Path) -> str:
    """Return the output of a program, which must succeed."""
    done = subprocess.run(
        [str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    return output


def test_image_runs_unprivileged_and_holds_only_the_production_lock() -> None:
    assert run(BIN / "hadolint", "Dockerfile") == ""
    [user] = re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE)
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)
    assert re.findall(r"requirements/\w+\.txt", DOCKERFILE) == ["requirements/production.txt"] * 2
    assert "--require-hashes" in DOCKERFILE


def test_base_images_are_pinned_by_digest() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    bases += [COMPOSE["postgres"]["image"]]
    assert len(bases) == 2
    for base in bases:
        assert re.fullmatch(r"[^@\s]+:[^@\s]+@sha256:[0-9a-f]{64}", base), base


def test_compose_file_matches_the_compose_schema() -> None:
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml")


def test_all_services_run_one_image_that_is_built_once() -> None:
    services = [COMPOSE[name] for name in ("migrate", "web", "worker")]
    assert {service["image"] for service in services} == {"homing:${TAG:-local}"}
    # Compose starts `migrate` before the other services, so these find the image and never pull it.
    assert ["build" in service for service in services] == [True, False, False]
    assert {service["pull_policy"] for service in services} == {"never"}


def test_containers_have_few_rights_and_start_when_ready() -> None:
    for name in ("migrate", "web", "worker"):
        written = COMPOSE[name]
        assert written["read_only"] is True
        assert written["cap_drop"] == ["ALL"]
        assert written["security_opt"] == ["no-new-privileges:true"]
    for name in ("web", "worker"):
        waits_for = COMPOSE[name]["depends_on"]["migrate"]
        assert waits_for == {"condition": "service_completed_successfully"}
    for name in ("postgres", "web", "worker"):
        assert COMPOSE[name]["restart"] == "unless-stopped"
        assert COMPOSE[name]["healthcheck"]["test"]
    assert COMPOSE["web"]["ports"] == ["127.0.0.1:${HTTP_PORT:-8000}:8000"]
    assert "ports" not in COMPOSE["postgres"]


def test_a_worker_is_healthy_for_a_minute_after_a_heartbeat(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat"
    test = COMPOSE["worker"]["healthcheck"]["test"].replace("/tmp/heartbeat", str(file))
    assert re.search(r"HOMING_HEARTBEAT_FILE=/tmp/heartbeat\b", DOCKERFILE)

    def is_healthy() -> bool:
        return subprocess.run(["sh", "-c", test], capture_output=True, check=False).returncode == 0

    assert not is_healthy()
    for age_s, healthy in ((90, False), (30, True)):
        file.touch()
        os.utime(file, (time.time() - age_s,) * 2)
        assert is_healthy() == healthy


def directive(unit: str, name: str) -> str:
    [found] = re.findall(rf"^{name}=(.*)$", (SYSTEMD / unit).read_text(), re.MULTILINE)
    return str(found)


def shortest_end_s(service: str, unit: str) -> int:
    """Return the number of seconds after which a stopping service is killed.

    The container and the systemd unit each set a limit; the smaller limit counts.
    """
    written = (COMPOSE[service]["stop_grace_period"], directive(unit, "TimeoutStopSec"))
    return min(int(one.removesuffix("s")) for one in written)


def test_calls_and_answers_may_end_before_the_process_is_killed() -> None:
    worker = shortest_end_s("worker", "homing-worker@.service")
    assert worker >= settings.DELIVERY_HTTP_DEADLINE_S + 10
    assert shortest_end_s("web", "homing-web.service") > GRACEFUL_S + 5
    assert settings.IDEMPOTENCY_WAIT_S < GRACEFUL_S


def test_systemd_accepts_the_units_and_services_have_few_rights(tmp_path: Path) -> None:
    analyze = program("systemd-analyze", package="systemd")
    for name in UNITS:  # copy the units, with programs that exist on this machine
        text = (SYSTEMD / name).read_text()
        (tmp_path / name).write_text(re.sub(r"/opt/homing/\.venv/bin/\w+", "/bin/true", text))
    units = [tmp_path / name.replace("@.service", "@1.service") for name in UNITS]
    assert run(analyze, "verify", "--man=no", *units) == ""
    services = [tmp_path / name for name in SERVICES]
    run(analyze, "security", "--offline=yes", f"--threshold={MOST_EXPOSED}", *services)


def test_services_have_their_own_user_and_belong_to_the_target() -> None:
    for service in SERVICES:
        assert directive(service, "User") == "homing"
        assert directive(service, "EnvironmentFile") == "/etc/homing/homing.env"
        assert directive(service, "PartOf") == "homing.target"
        # If the file of settings is empty, the site must not start in debug mode.
        assert "DEBUG=off" in re.findall(
            r"^Environment=(.*)$", (SYSTEMD / service).read_text(), re.MULTILINE
        )
        assert service.replace("@.", "@1.") in directive("homing.target", "Wants")
    # Without `PartOf`, the socket would start the site again after `systemctl stop 'homing*'`.
    assert directive("homing-web.socket", "PartOf") == "homing.target"


def test_proxy_lets_through_sizes_that_the_site_accepts() -> None:
    _, tls = PROXY.split("listen 443 ssl", 1)
    forms, *files = (int(size) * 1024 * 1024 for size in re.findall(r"max_body_size (\d+)m", tls))
    assert forms > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    assert len(files) == 2
    assert min(files) > settings.IMPORT_MAX_MB * 1024 * 1024


def test_nginx_accepts_the_unchanged_proxy_configuration(tmp_path: Path) -> None:
    nginx = program("nginx", package="nginx")
    program("openssl", package="openssl")
    certificate(tmp_path)
    site = re.sub(r"/etc/letsencrypt/live/[^/]+/", f"{tmp_path}/", PROXY)
    # `nginx -t` opens the ports, and only root may open those below 1024.
    site = re.sub(r"(listen .*?)(80|443)\b", r"\g<1>60\2", site)
    (tmp_path / "site.conf").write_text(site.replace("/var/log/nginx/", f"{tmp_path}/"))
    shutil.copy(ROOT / "deploy" / "nginx" / "homing-proxy.conf", tmp_path)
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; error_log stderr; events {{}}\n"
        f"http {{ include {tmp_path}/site.conf; }}\n"
    )
    assert "[warn]" not in run(nginx, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf")
