"""Start database, sandbox, site and workers, and sign an author in.

Only one demo may use a database, because a second demo would change the counts of the first.
"""

import hashlib
import os
import re
import secrets
import socket
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.crypto import get_random_string

from delivery.interface import capabilities
from delivery.models import WorkerHeartbeat
from newsletter_site.demo.child_processes import Children
from newsletter_site.demo.demo_browser import TIMEOUT_S, Browser
from newsletter_site.demo.terminal import DemoError, Terminal
from newsletter_site.models import User
from subscribers.models import Subscriber

READERS: Path = settings.BASE_DIR / "newsletter_site" / "demo" / "material" / "readers.csv"
HEARD_FROM_WITHIN = timedelta(seconds=60)
HOST = "127.0.0.1"
SITE_PORT, SANDBOX_PORT = 8000, 8025
WORKERS = 2
USERNAME = "author"
# Characters that look alike are left out, because the password is typed from a screen.
PASSWORD_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # noqa: S105
HOLD_S = 20
# Environment variables of a real site, which must not reach the demo. The demo sets these variables
# to an empty value, which counts as unset.
CLEARED = (
    *("ALLOWED_HOSTS", "TRUST_PROXY", "UNSUBSCRIBE_HANDLING"),
    *("POSTMARK_BROADCAST_STREAM", "POSTMARK_SERVER_TOKEN", "POSTMARK_TRANSACTIONAL_STREAM"),
)


class Services(NamedTuple):
    """The running services. `site` is a browser in which the author is signed in."""

    sandbox: Browser
    site: Browser
    author: User
    password: str

    def ask_sandbox(self, question: str) -> Any:
        """Return the sandbox's JSON answer for a path below /__sandbox__/."""
        answer = self.sandbox.open(f"/__sandbox__/{question}")
        answer.raise_for_status()
        return answer.json()

    def newest_mail(self, query: str) -> tuple[str, str] | None:
        """Return the id and the unsubscribe link of the newest message that matches."""
        for message in self.ask_sandbox(f"messages?q={query}&count=1")["messages"]:
            headers = {header["Name"]: header["Value"] for header in message["headers"]}
            found = re.search(r"<(https?://[^>]+)>", headers.get("List-Unsubscribe", ""))
            return message["id"], found[1] if found else ""
        return None


def open_database(terminal: Terminal) -> None:
    """Start the database and migrate it. Raise `DemoError` if others use the database."""
    refuse_other_readers()
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        version, where = cursor.fetchone()[0].split()[0], "of DATABASE_URL"
        if "EMBEDDED_POSTGRES" in connection.settings_dict:
            cursor.execute("SHOW data_directory")
            where = f"(embedded) in {Path(cursor.fetchone()[0]).parent}"
    terminal.step(f"PostgreSQL {version} {where}")
    call_command("migrate", verbosity=0, interactive=False)
    refuse_other_workers()
    terminal.step("tables up to date")


def refuse_other_readers() -> None:
    """Raise `DemoError` if the database has readers, but not the readers of the demo.

    The demo's own database may have further readers, who signed up or were added between two runs
    of the demo.
    """
    if Subscriber._meta.db_table not in connection.introspection.table_names():
        return
    ours = hashlib.sha256(READERS.read_bytes()).digest()
    if Subscriber.objects.filter(subscriber_import__content_hash=ours).exists():
        return
    if others := Subscriber.objects.count():
        raise DemoError(
            f"The demo stops and changes nothing, because the database has other readers "
            f"({others:,}). To start from nothing, set HOMING_DATA_DIR to an empty folder, or "
            "DATABASE_URL to an empty database."
        )


def refuse_other_workers() -> None:
    """Raise `DemoError` if another worker uses this database."""
    for worker in WorkerHeartbeat.objects.filter(heard_at__gt=Now() - HEARD_FROM_WITHIN):
        if worker.host == socket.gethostname():
            try:
                with suppress(PermissionError):  # The process belongs to another user.
                    os.kill(worker.pid, 0)
            except ProcessLookupError:
                continue
        raise DemoError(
            f"A worker is already running on {worker.host} (process {worker.pid}). End it first: "
            "it would send the demo's mail elsewhere."
        )


def start_services(children: Children, *, hold_s: int = HOLD_S) -> Services:
    """Start sandbox, site and workers, and sign the author in. Raise `DemoError`."""
    terminal = children.terminal
    site_port, sandbox_port = _free_port(SITE_PORT), _free_port(SANDBOX_PORT)
    site = Browser(f"http://{HOST}:{site_port}")
    sandbox = Browser(f"http://{HOST}:{sandbox_port}")
    password = "-".join(get_random_string(4, PASSWORD_ALPHABET) for _ in range(3))
    webhook_password = secrets.token_urlsafe()
    rights = {"is_active": True, "is_staff": True, "is_superuser": True}
    author, _ = User.objects.update_or_create(username=USERNAME, defaults=rights)
    author.set_password(password)
    author.save()
    environment = {
        **os.environ,
        **dict.fromkeys(CLEARED, ""),
        "DEBUG": "on",
        "DJANGO_SETTINGS_MODULE": "newsletter_site.settings",
        "HOMING_DATA_DIR": str(children.folder),
        "PUBLISH_HOLD_S": str(hold_s),
        "SITE_URL": site.url,
        "POSTMARK_BASE_URL": sandbox.url,
        "POSTMARK_WEBHOOK_USER": "sandbox",
        "POSTMARK_WEBHOOK_PASSWORD": webhook_password,
    }
    desk_url = f"{site.url}{reverse('desk:issues')}"
    for name, command in {
        "sandbox": f"postmark_sandbox --port {sandbox_port} --desk-url {desk_url}",
        "web server": (f"manage serve --bind {HOST}:{site_port} --processes 2"),
        **{f"worker {number}": "manage deliver --processes 1" for number in range(1, WORKERS + 1)},
    }.items():
        children.start(name, *command.split(), environment=environment)
    children.wait_for(f"{sandbox.url}/")
    terminal.step(f"sandbox instead of Postmark at {_address(sandbox, SANDBOX_PORT)}")
    children.wait_for(f"{site.url}/health/live/")
    site.sign_in(USERNAME, password)
    for stream in ("broadcast", "outbound"):
        webhook = {
            "Url": f"{site.url}/webhooks/postmark/",
            "MessageStream": stream,
            "HttpAuth": {"Username": "sandbox", "Password": webhook_password},
            "Triggers": {kind: {"Enabled": True} for kind in capabilities().webhook_events},
        }
        token, url = {"X-Postmark-Server-Token": "demo"}, f"{sandbox.url}/webhooks"
        answer = sandbox.session.post(url, headers=token, json=webhook, timeout=TIMEOUT_S)
        answer.raise_for_status()
    terminal.step(f"site at {_address(site, SITE_PORT)} and {WORKERS} workers")
    return Services(sandbox, site, author, password)


def _free_port(usual_port: int) -> int:
    try:
        listener = socket.create_server((HOST, usual_port))
    except OSError:
        listener = socket.create_server((HOST, 0))
    with listener:
        return int(listener.getsockname()[1])


def _address(server: Browser, usual_port: int) -> str:
    is_usual = server.url.endswith(f":{usual_port}")
    return f"{server.url}/" + ("" if is_usual else f" (port {usual_port} is in use)")
