"""Where the web server listens, and when it refuses to start."""

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from newsletter_site.serving.listen import describe, is_loopback, listen
from tests.deployment.nginx_proxy import free_port
from tests.faults.wait_until import eventually

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SERVE = [sys.executable, "manage.py", "serve"]
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 8000), 5)"


def environment(folder: Path, **variables: str) -> dict[str, str]:
    path = f"{BIN}:{os.environ['PATH']}:/usr/sbin:/sbin"
    return {"PATH": path, "HOMING_DATA_DIR": str(folder), **variables}


@contextmanager
def listening(folder: Path, sysctl: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start the web server in a separate network namespace, with one kernel setting."""
    if os.geteuid() != 0:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "This test makes a network namespace. Run it as root."
        )
    script = f'ip link set lo up && sysctl -q -w {sysctl} && exec "$@"'
    process = subprocess.Popen(
        ["unshare", "--net", "sh", "-ec", script, "sh", *SERVE],
        cwd=ROOT,
        env=environment(folder, DEBUG="on", PORT="8000"),
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.parametrize(
    ("sysctl", "has_ipv6"),
    [
        ("net.ipv6.bindv6only=0", True),
        ("net.ipv6.bindv6only=1", True),
        # Docker turns IPv6 off like this in each container whose network has no IPv6.
        ("net.ipv6.conf.all.disable_ipv6=1", False),
    ],
)
def test_the_site_listens_on_every_address(tmp_path: Path, sysctl: str, has_ipv6: bool) -> None:
    with listening(tmp_path, sysctl) as process:
        net = ("nsenter", "--target", str(process.pid), "--net", sys.executable, "-c", CONNECT)

        def answers(host: str) -> bool:
            ended = subprocess.run([*net, host], capture_output=True, check=False)
            return ended.returncode == 0

        eventually(lambda: answers("127.0.0.1"), "the site answers by IPv4")
        assert answers("::1") == has_ipv6


def test_a_kernel_without_ipv6_listens_by_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    class Socket(socket.socket):
        def __init__(self, family: int = -1, *arguments: int) -> None:
            if family == socket.AF_INET6:
                raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
            super().__init__(family, *arguments)

    monkeypatch.setattr(socket, "socket", Socket)
    with listen("", free_port()) as listener:
        assert describe(listener).startswith("0.0.0.0:")


@pytest.mark.parametrize(
    ("bind", "address"),
    [("localhost:{port}", "127.0.0.1"), ("[::1]:{port}", "::1"), ("127.0.0.2:{port}", "127.0.0.2")],
)
def test_loopback_addresses_are_known(bind: str, address: str) -> None:
    with listen(bind.format(port=free_port()), 8000) as listener:
        assert listener.getsockname()[0] == address
        assert is_loopback(listener)


NOT_CHOSEN = "homing: DEBUG is not set, and others may reach {}. Set DEBUG=off and the "


def test_debug_that_nobody_chose_is_refused_where_others_reach_it(tmp_path: Path) -> None:
    address = f"0.0.0.0:{free_port()}"
    ended = subprocess.run(
        [*SERVE, "--bind", address],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    *_, line = ended.stderr.splitlines()
    assert line.startswith(NOT_CHOSEN.format(address))


def test_a_site_for_readers_needs_a_named_database(tmp_path: Path) -> None:
    required = {"SITE_URL": "https://letter.example.org", "POSTMARK_SERVER_TOKEN": "token"}
    ended = subprocess.run(
        SERVE,
        cwd=ROOT,
        env=environment(tmp_path, DEBUG="off", SECRET_KEY="k" * 50, **required),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("homing: DATABASE_URL is not set; ")
