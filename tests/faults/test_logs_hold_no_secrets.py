"""Check the logs of real processes outside debug mode, with many faults.

No log contains a secret of the settings, a name, an address, a word of a letter or a token. Each
line is a JSON object, and each logged call belongs to an issue that the site published.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests
from django.contrib.auth import get_user_model

from newsletter_site.logs.log_format import FIELDS
from newsletter_site.logs.redact_log_line import basic_credentials
from postmark_sandbox.server import SandboxServer
from tests.deployment.served_site import serve
from tests.faults.processes.watched_worker import TIMES, WatchedWorker
from tests.faults.servers.postgres_server import OwnServer
from tests.faults.wait_until import eventually
from tests.publishing.author_browser import Page

pytestmark = pytest.mark.timeout(400)

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60
HOST = "letter.example.org"

SECRETS = {
    "SECRET_KEY": "key-of-this-site-Qx7vLm2PzR9tKw4NbY6sHd8FgJ3cVa5e, and words",
    "SECRET_KEY_FALLBACKS": "an-earlier-key-Wd5rTn8LqX3zBv6MhK2p",
    "POSTMARK_SERVER_TOKEN": "0c7e1f52-8d3a-4b96-9e41-c5f2a7b3d680",
    "POSTMARK_WEBHOOK_PASSWORD": "webhooks: come & go/home 'today'",
    "METRICS_TOKEN": "metrics-for-few",
}
WEBHOOK_USER = "postmark"
PASSWORD = "Kestrel-hovers-over-meadows"
WRONG_PASSWORD = "Buzzard-circles-over-fields"
AUTHOR = "wilhelmina"
AUTHOR_NAME = "Wilhelmina Ottersbach"
TITLE = "Sandmartins dig their burrows"
WORDS = "Thrushes smash snails upon stones"
NAMES = ["Perpetua Hollinghurst", "Ambrosius Quillfeather"]
ADDRESSES = ["perpetua.hollinghurst@aviary.example.net", "Ambrosius@Quillfeather.example.com"]
NEWCOMER, NEWCOMER_NAME = "theodolinda@rookery.example.net", "Theodolinda Featherstonehaugh"
BAD_ROW = "not-an-address-of-Balthasar"
BAD_HOST = "balthasar.nightjar.example.net"


class Visitor:
    """A browser behind a TLS proxy, so it also sends cookies that need TLS."""

    def __init__(self, homing: Homing) -> None:
        self._homing = homing
        self._cookies: dict[str, str] = {}

    def get(self, path: str, **headers: str) -> Page:
        return self._asked("GET", path, headers)

    def post(self, path: str, fields: Any, **headers: str) -> Page:
        return self._asked("POST", path, headers, data=fields)

    def press(self, path: str, field: str, **changes: str) -> Page:
        """Open a page, change its form's fields and send it."""
        form = self.get(path).form_with(field)
        return self.post(form.action or path, {**form.fields, **changes})

    def _asked(self, method: str, path: str, headers: Mapping[str, str], **more: Any) -> Page:
        headers = {
            "Host": HOST,
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "203.0.113.77",
            "Referer": f"https://{HOST}{path}",
            "Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items()),
        } | headers
        answer = requests.request(
            method,
            self._homing.url + path,
            headers=headers,
            timeout=PATIENCE_S,
            allow_redirects=False,
            **more,
        )
        cookies = {cookie.name: cookie.value or "" for cookie in answer.cookies}
        self._cookies |= cookies
        self._homing.tokens += cookies.values()
        self._homing.answers.append(answer)
        return Page(answer)


@dataclass
class Homing:
    """All running processes, and their output."""

    environment: dict[str, str]
    url: str
    provider: SandboxServer
    folder: Path
    services: dict[str, str] = field(default_factory=dict)
    commands: dict[str, tuple[str, str]] = field(default_factory=dict)
    answers: list[requests.Response] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    @property
    def database(self) -> psycopg.Connection:
        return psycopg.connect(self.environment["DATABASE_URL"], autocommit=True)

    def run(self, *command: str, may_fail: bool = False) -> None:
        """Run a command to its end and keep its output."""
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert may_fail or done.returncode in (0, 3), f"{command}: {done.stdout}{done.stderr}"
        self.commands[f"{len(self.commands)} {command[0]}"] = (done.stdout, done.stderr)

    @contextmanager
    def worker(self, name: str) -> Iterator[WatchedWorker]:
        """Run a worker for the block."""
        keys = (*SECRETS, "LOG_LEVEL", "POSTMARK_WEBHOOK_USER")
        settings = {key: self.environment[key] for key in keys}
        one = WatchedWorker(self.environment["DATABASE_URL"], self.provider.url, **settings)
        try:
            yield one
            if one.is_running():
                assert one.stop() == 0
        finally:
            one.kill()
            self.services[name] = one.output

    @contextmanager
    def site(self, listener: socket.socket) -> Iterator[None]:
        """Run the web server."""
        site_log = self.folder / "site.log"
        with site_log.open("wb") as file:
            process = subprocess.Popen(
                serve(f"fd://{listener.fileno()}", processes=2),
                cwd=ROOT,
                env=self.environment,
                pass_fds=[listener.fileno()],
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)
            self.services["site"] = site_log.read_text()

    def mailed_link(self, pattern: str) -> str:
        """Wait for a mail with a matching link; return the newest link."""
        outbox = self.provider.sandbox.outbox
        links: list[re.Match[str]] = []

        def is_found() -> bool:
            for stored in outbox.requests[::-1]:
                for number in range(stored.first, stored.first + stored.size):
                    item = json.dumps(outbox.message(number).item)
                    links.extend(re.finditer(rf"https://letter\.example\.org({pattern})", item))
                    if links:
                        return True
            return False

        eventually(is_found, f"a mail has a link like {pattern}")
        self.tokens.append(links[0][2])
        return links[0][1]

    def webhook(self, body: Any, password: str = SECRETS["POSTMARK_WEBHOOK_PASSWORD"]) -> int:
        headers = {
            "Authorization": f"Basic {basic_credentials(WEBHOOK_USER, password)}",
            "Content-Type": "application/json",
        }
        sent = json.dumps(body) if isinstance(body, dict) else body
        return Visitor(self).post("/webhooks/postmark/", sent, **headers).status


@pytest.fixture(scope="module")
def homing(
    server: OwnServer, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Homing]:
    """Run the whole scenario once."""
    with ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())
        database = server.url(stack.enter_context(server.fresh_database()))
        provider = stack.enter_context(SandboxServer())
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        environment = {
            **os.environ,
            **TIMES,
            # Use small batches, so that some batches remain after a worker was killed or has met
            # its faults.
            "DELIVERY_BATCH_SIZE": "20",
            **SECRETS,
            "DATABASE_URL": database,
            "POSTMARK_BASE_URL": provider.url,
            "POSTMARK_WEBHOOK_USER": WEBHOOK_USER,
            "TRUST_PROXY": "on",
            "SITE_URL": f"https://{HOST}",
            "LOG_LEVEL": "debug",
            "WEB_CONCURRENCY": "1",
            "PUBLISH_HOLD_S": "0",
            "PYTHONUNBUFFERED": "1",
        }
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        homing = Homing(environment, url, provider, tmp_path_factory.mktemp("homing"))
        first, last = AUTHOR_NAME.split()
        with server.as_djangos_own(database):
            get_user_model().objects.create_superuser(
                AUTHOR, password=PASSWORD, first_name=first, last_name=last
            )
        with homing.site(listener):
            use_every_part(homing, server)
        yield homing


def use_every_part(homing: Homing, server: OwnServer) -> None:
    """Use every part of Homing, with many faults."""
    author = Visitor(homing)
    for password, status in ((WRONG_PASSWORD, 200), (PASSWORD, 302)):
        address = "/admin/login/?next=/admin/newsletters/"
        page = author.press(address, "username", username=AUTHOR, password=password)
        assert page.status == status
    import_readers(homing)
    with homing.worker("through faults") as worker:
        sign_up(homing)
        issue = publish_through_faults(homing, author, worker)
    a_worker_is_killed(homing, author)
    with homing.worker("after the killed one") as worker:
        worker.wait_for("is recovered; its worker's process ended in state sending")
        cause_database_error(homing, author, worker)
        # After the faults, unsettled calls are looked up. The call for this issue ends normally.
        publish(author, "A fifth flock")
        homing.run("deliver", "--until-empty")
        webhooks(homing)
        leave_and_look_at_the_record(homing)
        cause_database_outage(homing, server, worker)
    send_malformed_requests(homing)
    homing.run("reconcile", may_fail=True)
    homing.run("issue_status", issue)
    author.get(f"/admin/newsletters/{issue}/")
    author.get(f"/admin/newsletters/{issue}/readers.csv")


def import_readers(homing: Homing) -> None:
    rows = [f"{address},{name}" for address, name in zip(ADDRESSES, NAMES, strict=True)]
    more = [f"reader{number}@aviary.example.net,{NAMES[0]}" for number in range(200)]
    file = homing.folder / "list.csv"
    file.write_text("\n".join(["email,name", *rows, f"{BAD_ROW},{NAMES[1]}", *more]) + "\n")
    homing.run("import_subscribers", str(file), "--confirmed", "--consent", "they asked for it")


def sign_up(homing: Homing) -> None:
    newcomer = Visitor(homing)
    assert newcomer.press("/", "email", email=NEWCOMER, name=NEWCOMER_NAME).status < 400
    link = homing.mailed_link(r"/subscriptions/confirm/\?subscription_token=([\w-]+)")
    assert newcomer.press(link, "csrfmiddlewaretoken").status < 400


def publish(author: Visitor, title: str, presses: int = 1) -> list[int]:
    """Publish with several requests of the same form; return their statuses."""
    letter = {
        "title": title,
        "html_content": f"<p>Dear {{{{ name|reader }}}}, {WORDS}.</p>",
        "text_content": f"Dear {{{{ name|reader }}}}, {WORDS}.",
    }
    form = author.get("/admin/newsletters/").form_with("title")
    fields = {**form.fields, **letter}
    return [author.post("/admin/newsletters/", fields).status for _ in range(presses)]


def publish_through_faults(homing: Homing, author: Visitor, worker: WatchedWorker) -> str:
    """Send an issue through every faulty answer; return its id."""
    fault = homing.provider.sandbox.set_fault
    fault("unauthorized_401")
    assert publish(author, TITLE, presses=2) == [303, 303]
    issue = stopped_issue(homing)
    fault("whole_422", code=300, text=f"Illegal address {ADDRESSES[0]} of {NAMES[0]}")
    homing.run("edition", "resume", issue)
    stopped_issue(homing)
    fault("item_error", code=300, text=f"Invalid 'To' address: {ADDRESSES[0]}.", k=1)
    fault("refuse_429", retry_after=1)
    fault("maintenance_503")
    fault("accept_then_garble")
    fault("accept_then_wrong_length")
    fault("reset")
    fault("search_503")
    homing.run("edition", "resume", issue)
    worker.wait_for("next: ", times=2)
    return issue


def stopped_issue(homing: Homing) -> str:
    """Wait until an account or content error stops an edition; return its issue."""
    found: list[Any] = []

    def is_stopped() -> bool:
        with homing.database as database:
            question = "SELECT issue_id::text FROM edition WHERE control = 'stopped'"
            found.extend(database.execute(question).fetchall())
        return bool(found)

    eventually(is_stopped, "the edition has stopped")
    return str(found[0][0])


def a_worker_is_killed(homing: Homing, author: Visitor) -> None:
    sandbox = homing.provider.sandbox
    sandbox.faults.clear()
    publish(author, "Another flock")
    sandbox.set_fault("hold", moment="after_accept")
    with homing.worker("killed") as worker:
        assert sandbox.gate.wait_until(lambda: sandbox.gate.held > 0, PATIENCE_S)
        worker.kill()
    sandbox.gate.release()
    sandbox.faults.clear()


def cause_database_error(homing: Homing, author: Visitor, worker: WatchedWorker) -> None:
    """Cause a database error, whose message repeats the rejected row."""
    tables = ("subscriber", "edition", "provider_event", "consent_record")
    closed = "ALTER TABLE {} ADD CONSTRAINT closed CHECK (false) NOT VALID"
    with homing.database as operator:
        for table in tables:
            operator.execute(closed.format(table))
        Visitor(homing).press("/", "email", email=f"other.{NEWCOMER}", name=NEWCOMER_NAME)
        assert publish(author, "A third flock") == [500]
        file = homing.folder / "letter.txt"
        file.write_text(WORDS)
        files = ("--text-file", str(file), "--html-file", str(file))
        homing.run("publish", "--title", TITLE, *files, may_fail=True)
        homing.webhook({"RecordType": "Bounce", "Email": ADDRESSES[0], "Name": NAMES[0]})
        for table in tables:
            operator.execute(f"ALTER TABLE {table} DROP CONSTRAINT closed")
        homing.provider.sandbox.set_fault("hold", moment="after_accept", calls=1)
        publish(author, "A fourth flock")
        gate = homing.provider.sandbox.gate
        assert gate.wait_until(lambda: gate.held > 0, PATIENCE_S)
        operator.execute(closed.format("delivery"))
        gate.release()
        worker.wait_for("CheckViolation")
        operator.execute("ALTER TABLE delivery DROP CONSTRAINT closed")


def cause_database_outage(homing: Homing, server: OwnServer, worker: WatchedWorker) -> None:
    with server.away("immediate"):
        worker.wait_for("OperationalError")
        somebody = Visitor(homing)
        assert somebody.get("/archive/").status == 503
        assert somebody.get(f"/unsubscribe/{homing.tokens[0]}/").status >= 400
        homing.webhook({"RecordType": "Bounce", "Email": ADDRESSES[0]})
        homing.run("audit", may_fail=True)


def webhooks(homing: Homing) -> None:
    outbox = homing.provider.sandbox.outbox
    message = outbox.message(outbox.requests[::-1][0].first)
    event = {
        "RecordType": "Bounce",
        "Type": "HardBounce",
        "ID": 42,
        "MessageID": message.id,
        "Email": message.recipients[0],
        "Name": NAMES[0],
        "Metadata": message.metadata,
        "BouncedAt": "2026-01-01T00:00:00Z",
        "Details": f"no such user {ADDRESSES[0]}",
    }
    assert homing.webhook(event) == 200
    assert homing.webhook(event, password=WRONG_PASSWORD) == 401
    assert homing.webhook(f"{{broken {ADDRESSES[1]}") == 200


def leave_and_look_at_the_record(homing: Homing) -> None:
    reader = Visitor(homing)
    link = homing.mailed_link(r"/unsubscribe/([\w-]+)/")
    assert reader.get(link).status == 200
    assert reader.post(link, {"List-Unsubscribe": "One-Click"}).status == 200
    assert reader.press("/record/", "email", email=NEWCOMER).status < 400
    link = homing.mailed_link(r"/record/([\w-]+)/")
    assert reader.get(link).status == 200
    assert reader.get(f"{link}record.json").status == 200


def send_malformed_requests(homing: Homing) -> None:
    token = homing.tokens[-1]
    stranger = Visitor(homing)
    stranger.get("/", Host=BAD_HOST)
    stranger.get(f"/nowhere/{token}/?email={ADDRESSES[0]}")
    forged = {"Referer": f"https://evil.example/unsubscribe/{token}/"}
    assert stranger.post("/admin/login/", {"username": AUTHOR}, **forged).status == 403
    assert stranger.get("/metrics", Authorization=f"Bearer {WRONG_PASSWORD}").status >= 400
    for sent in (
        f"GET /record/{token}/ HTTP/9.9\r\n\r\n",
        f"GET /record/{token}/ HTTP/1.1\r\nbad header {ADDRESSES[0]}\r\n\r\n",
        f"POST / HTTP/1.1\r\nContent-Length: {ADDRESSES[0]}\r\n\r\n",
    ):
        with socket.create_connection(homing.url.removeprefix("http://").split(":")) as line:
            line.sendall(sent.encode())
            line.recv(1000)


def confidential_values(homing: Homing, server: OwnServer) -> dict[str, list[str]]:
    """Return every confidential value, by its kind."""
    return {
        "a secret": [
            *SECRETS.values(),
            server.password,
            basic_credentials(WEBHOOK_USER, SECRETS["POSTMARK_WEBHOOK_PASSWORD"]),
        ],
        "a password": [PASSWORD, WRONG_PASSWORD],
        "an author": [AUTHOR, *AUTHOR_NAME.split()],
        "a letter": [TITLE, WORDS, "flock", "Thrushes"],
        "a reader": [*NAMES, NEWCOMER_NAME, "Balthasar", "balthasar"],
        "an address": [*ADDRESSES, *map(str.lower, ADDRESSES), NEWCOMER, "@aviary", "reader199"],
        "a token": [each for each in homing.tokens if len(each) > 8],
        "where somebody is": ["203.0.113"],
    }


def services(homing: Homing) -> list[tuple[str, str]]:
    return [(name, line) for name, text in homing.services.items() for line in text.splitlines()]


def printed(homing: Homing) -> list[tuple[str, str]]:
    return [
        (name, line)
        for name, both in homing.commands.items()
        for line in "".join(both).splitlines()
    ]


def logged(homing: Homing) -> list[dict[str, Any]]:
    """Return every log line of every process."""
    lines = [line for _, line in services(homing)]
    lines += [line for _, errors in homing.commands.values() for line in errors.splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_no_process_wrote_anything_confidential(homing: Homing, server: OwnServer) -> None:
    secrets = confidential_values(homing, server)
    assert len({token for token in homing.tokens if len(token) > 20}) >= 5

    def found_in(lines: list[tuple[str, str]]) -> list[tuple[str, ...]]:
        return [
            (what, value, name, line)
            for what, values in secrets.items()
            for value in values
            for name, line in lines
            if value in line
        ]

    lines = services(homing) + [each for each in printed(homing) if each[1].startswith("{")]
    assert len(lines) > 100
    assert found_in(lines) == []
    # Do not look for all values in the output of commands: like a page, a command may show a title
    # or Postmark's text.
    for what in ("a letter", "a reader", "an address"):
        del secrets[what]
    assert found_in(printed(homing)) == []
    pages = [answer for answer in homing.answers if answer.status_code >= 400]
    assert {answer.status_code for answer in pages} >= {400, 401, 403, 404, 500, 503}
    for answer in pages:
        shown = (*secrets["a secret"], *NAMES, "violates", "closed")
        assert not [each for each in shown if each in answer.text]


def test_every_line_of_a_service_is_json_with_known_fields(homing: Homing) -> None:
    for name, line in services(homing):
        assert line.startswith("{"), f"{name} wrote a line that is not JSON: {line}"
        assert set(json.loads(line)) <= set(FIELDS), line
    assert {line["process"] for line in logged(homing)} >= {"web", "worker", "publish"}
    faults = {line["error"] for line in logged(homing) if "error" in line}
    assert "IntegrityError, from CheckViolation 23514 closed" in faults
    assert any("OperationalError" in fault for fault in faults)
    by_process = {line["process"] for line in logged(homing) if "CheckViolation" in str(line)}
    assert by_process >= {"web", "worker", "publish"}


def test_every_answer_has_the_id_of_its_log_line(homing: Homing) -> None:
    lines = {line["request"]: line for line in logged(homing) if "route" in line}
    ids = [answer.headers.get("X-Request-ID") for answer in homing.answers]
    assert len(ids) == len(set(ids) - {None}) > 30
    for answer in homing.answers:
        line = lines[answer.headers["X-Request-ID"]]
        assert (line["status"], line["method"]) == (answer.status_code, answer.request.method)
        assert "?" not in line["route"]


def test_each_logged_call_belongs_to_a_published_issue(homing: Homing) -> None:
    lines = logged(homing)
    published = {
        (line["issue"], line["version"]) for line in lines if "was published" in line["event"]
    }
    assert len(published) == 4
    with homing.database as operator:
        rows = operator.execute(
            "SELECT attempt.id, issue_id, version, worker FROM attempt JOIN edition"
            " ON edition.id = attempt.edition_id WHERE kind = 'newsletter'"
        ).fetchall()
    # A worker that is killed between a settlement and its log line does not write this line.
    truth = {
        attempt.hex: (str(issue), version)
        for attempt, issue, version, worker in rows
        if worker.hex not in homing.services["killed"]
    }
    logged_calls = {
        line.get("attempt"): (line["issue"], line["version"])
        for line in lines
        if "issue" in line and "version" in line
    }
    assert {attempt: logged_calls.get(attempt) for attempt in truth} == truth
    assert set(truth.values()) == published


def test_lines_of_the_reaper_and_webhooks_name_the_call(homing: Homing) -> None:
    recovered = "is recovered; its worker's process ended in state sending"
    swept = [line for line in logged(homing) if recovered in line["event"]]
    assert swept
    assert all(re.fullmatch(r"[0-9a-f]{32}", line["attempt"]) for line in swept)
    assert all(line["issue"] and line["batch"] > 0 for line in swept)
    webhooks = [line for line in logged(homing) if line.get("route") == "/webhooks/postmark/"]
    (call_line,) = [line for line in webhooks if "attempt" in line]
    assert call_line["status"] == 200
    sent = [line for line in logged(homing) if line["logger"] == "delivery.worker.step"]
    assert (call_line["attempt"], call_line["issue"]) in {
        (line["attempt"], line["issue"]) for line in sent
    }


def test_command_prints_its_result_apart_from_the_log(homing: Homing) -> None:
    commands = {name.partition(" ")[2]: both for name, both in homing.commands.items()}
    output, progress = commands["deliver"]
    assert len(output.splitlines()) == 1
    assert json.loads(output)["audience"] >= 0
    assert progress
    output, errors = commands["import_subscribers"]
    assert json.loads(output.splitlines()[-1])["rejected"] == 1
    assert not [line for line in errors.splitlines() if line.startswith("{")]
