"""A private instance of Debian's Postfix, which delivers into its own folder."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.faults.wait_until import eventually
from tests.installed_programs import program

# Mail to other domains is discarded. `reader0` to `reader9` have mailboxes, and nobody else.
MAIN = """
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
inet_interfaces = loopback-only
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
myhostname = mail.example.org
mydestination =
alias_maps =
alias_database =
local_transport = discard
default_transport = discard
virtual_mailbox_domains = example.net
virtual_mailbox_base = {folder}/mail
virtual_mailbox_maps = inline:{{ {mailboxes} }}
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{uid}
message_size_limit = 20000
"""
MASTER = """
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
proxymap unix - - n - - proxymap
virtual unix - n n - - virtual
discard unix - - n - - discard
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""
NOBODY = 65534


class PostfixInstance:
    """A running instance, with a port on loopback for each of its services."""

    def __init__(self, folder: Path, ports: Mapping[str, int]) -> None:
        self.ports = ports
        self._folder = folder

    def arrived(self, number: int) -> list[bytes]:
        """Wait until this many messages are in the mailboxes; return and remove them."""
        mailboxes = self._folder / "mail"
        eventually(lambda: len(list(mailboxes.glob("*/new/*"))) >= number, f"{number} messages")
        found = [path.read_bytes() for path in sorted(mailboxes.glob("*/new/*"))]
        for mailbox in list(mailboxes.iterdir()):
            shutil.rmtree(mailbox)
        assert len(found) == number
        return found


def parsed(message: bytes) -> EmailMessage:
    """Read a message as a mail program does."""
    found = message_from_bytes(message, policy=policy.default)
    assert isinstance(found, EmailMessage)
    return found


@contextmanager
def postfix(services: Mapping[str, str]) -> Iterator[PostfixInstance]:
    """Run an instance that listens on a port for each of `services`.

    `services` maps names to options of Postfix's program `smtpd`. The system's own instance is
    neither read nor changed. Without root, the test is skipped.
    """
    if os.geteuid() != 0:
        pytest.skip("Postfix starts only as root.")
    command = program("postfix", package="postfix")
    with ExitStack() as stack:
        # Postfix's users must reach this folder, which they cannot below pytest's own.
        made = tempfile.TemporaryDirectory(prefix="homing-postfix-")
        folder = Path(stack.enter_context(made))
        folder.chmod(0o755)
        for name in ("config", "queue", "data", "mail"):
            (folder / name).mkdir()
        shutil.chown(folder / "data", "postfix")
        os.chown(folder / "mail", NOBODY, NOBODY)
        mailboxes = " ".join(f"{{ reader{n}@example.net = reader{n}/ }}" for n in range(10))
        main = MAIN.format(folder=folder, mailboxes=mailboxes, uid=NOBODY)
        (folder / "config" / "main.cf").write_text(main)
        ports = {name: _free_port() for name in services}
        listening = "\n".join(
            f"127.0.0.1:{ports[name]} inet n - n - - smtpd {options}"
            for name, options in services.items()
        )
        (folder / "config" / "master.cf").write_text(listening + MASTER)

        def run(what: str) -> None:
            # `start` waits until Postfix listens, and `stop` until its processes have ended.
            subprocess.run([command, "-c", folder / "config", what], check=True, timeout=60)

        run("start")
        stack.callback(run, "stop")
        yield PostfixInstance(folder, ports)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
