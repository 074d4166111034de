"""
A whole Homing outside debug, with real processes and much that goes wrong; then its logs are read.

Nothing that was ever told to it in confidence stands in any of them: no secret of the settings, no
name, no address, no word of a letter, no permission that a link is. And the lines tell the story:
each is an object of JSON, and what the worker logged of a call belongs to what the site published.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests
from django.contrib.auth import get_user_model

from newsletter_site.logs.lines import FIELDS
from newsletter_site.logs.net import basic_credentials
from postmark_sandbox.server import SandboxServer
from tests.faults.own_server import OwnServer
from tests.faults.watched_worker import TIMES, WatchedWorker
from tests.publishing.window_of import Page
from tests.subscribers.import_processes import eventually

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


@dataclass
class Visitor:
    """A browser of somebody's behind the proxy; its cookies travel as over TLS."""

    site: str
    seen: list[requests.Response]
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> Page:
        return self._asked("GET", path, headers)

    def post(self, path: str, fields: Any, **headers: str) -> Page:
        return self._asked("POST", path, headers, data=fields)

    def press(self, path: str, field: str, **changes: str) -> Page:
        """Open a page, change its form's fields and send it."""
        form = self.get(path).form_with(field)
        return self.post(form.action or path, {**form.fields, **changes})

    def _asked(self, method: str, path: str, headers: dict[str, str], **more: Any) -> Page:
        answer = requests.request(
            method,
            self.site + path,
            headers={
                "Host": HOST,
                "X-Forwarded-Proto": "https",
                "X-Forwarded-For": "203.0.113.77",
                "Referer": f"https://{HOST}{path}",
                "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
                **headers,
            },
            timeout=PATIENCE_S,
            allow_redirects=False,
            **more,
        )
        self.cookies |= {cookie.name: cookie.value or "" for cookie in answer.cookies}
        self.seen.append(answer)
        return Page(answer)


@dataclass
class Homing:
    """Everything that runs, and what it wrote."""

    environment: dict[str, str]
    url: str
    provider: SandboxServer
    folder: Path
    services: dict[str, str] = field(default_factory=dict)
    commands: dict[str, tuple[str, str]] = field(default_factory=dict)
    answers: list[requests.Response] = field(default_factory=list)
    permissions: list[str] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)

    def visitor(self) -> Visitor:
        return Visitor(self.url, self.answers)

    def run(self, *command: str, may_fail: bool = False) -> str:
        """A command to its end; what it printed on stdout."""
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
        return done.stdout

    @contextmanager
    def worker(self, name: str) -> Iterator[WatchedWorker]:
        """A worker that runs meanwhile."""
        one = WatchedWorker(
            self.environment["DATABASE_URL"],
            self.provider.url,
            **{
                key: self.environment[key]
                for key in (*SECRETS, "LOG_LEVEL", "POSTMARK_WEBHOOK_USER")
            },
        )
        try:
            yield one
            if one.is_running():
                assert one.stop() == 0
        finally:
            one.kill()
            self.services[name] = one.said

    def link_in_the_last_mail(self, pattern: str) -> str:
        """The link of the newest accepted mail that has one like it."""
        outbox = self.provider.sandbox.outbox
        for parcel in outbox.parcels_newest_first():
            for number in range(parcel.first, parcel.first + parcel.size):
                found = re.search(pattern, json.dumps(outbox.message(number).item))
                if found:
                    self.permissions.append(found[1])
                    return found[0].removeprefix(f"https://{HOST}")
        raise AssertionError(f"no mail has {pattern}")


@pytest.fixture(scope="module")
def homing(
    server: OwnServer,
    django_db_blocker: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Homing]:
    """The whole story, told once."""
    with ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())
        database = stack.enter_context(server.fresh_database())
        provider = stack.enter_context(SandboxServer())
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        environment = {
            **os.environ,
            **TIMES,
            **SECRETS,
            "DATABASE_URL": server.url(database),
            "POSTMARK_BASE_URL": provider.url,
            "POSTMARK_WEBHOOK_USER": WEBHOOK_USER,
            "TRUST_PROXY": "on",
            "SITE_URL": f"https://{HOST}",
            "LOG_LEVEL": "debug",
            "WEB_CONCURRENCY": "1",
            "PYTHONUNBUFFERED": "1",
        }
        folder = tmp_path_factory.mktemp("homing")
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        homing = Homing(environment, url, provider, folder)
        with server.as_djangos_own(server.url(database)):
            get_user_model().objects.create_superuser(
                AUTHOR,
                password=PASSWORD,
                first_name=AUTHOR_NAME.split()[0],
                last_name=AUTHOR_NAME.split()[1],
            )
        with site(homing, listener):
            a_day_of_it(homing, server, database)
        homing.permissions += [
            value for answer in homing.answers for value in answer.cookies.get_dict().values()
        ]
        yield homing


@contextmanager
def site(homing: Homing, listener: socket.socket) -> Iterator[None]:
    """gunicorn as it is deployed."""
    said = homing.folder / "site.log"
    with said.open("wb") as file:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "--config", "deploy/gunicorn.conf.py"),
                *("--bind", f"fd://{listener.fileno()}"),
            ],
            cwd=ROOT,
            env=homing.environment,
            pass_fds=[listener.fileno()],
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)
        homing.services["site"] = said.read_text()


# --- The story ------------------------------------------------------------------------------------


def a_day_of_it(homing: Homing, server: OwnServer, database: str) -> None:
    """All that is done with Homing, and much that goes wrong with it."""
    author = sign_in(homing)
    import_readers(homing)
    sign_up(homing)
    issue = publish(author)
    deliver_through_faults(homing, issue)
    a_worker_is_killed(homing, author)
    the_database_refuses(homing, server.url(database), author)
    the_database_goes_away(homing, server)
    webhooks(homing)
    leave_and_look_at_the_record(homing)
    what_no_browser_sends(homing)
    homing.run("reconcile", may_fail=True)
    homing.run("audit", may_fail=True)
    homing.run("issue_status", issue)
    author.get(f"/admin/newsletters/{issue}/")
    author.get(f"/admin/newsletters/{issue}/readers.csv")


def sign_in(homing: Homing) -> Visitor:
    author = homing.visitor()
    author.press(
        "/admin/login/?next=/admin/newsletters/",
        "username",
        username=AUTHOR,
        password=WRONG_PASSWORD,
    )
    page = author.press(
        "/admin/login/?next=/admin/newsletters/", "username", username=AUTHOR, password=PASSWORD
    )
    assert page.status == 302
    return author


def import_readers(homing: Homing) -> None:
    rows = [f"{address},{name}" for address, name in zip(ADDRESSES, NAMES, strict=True)]
    more = [f"reader{number}@aviary.example.net,{NAMES[0]}" for number in range(200)]
    file = homing.folder / "list.csv"
    file.write_text("\n".join(["email,name", *rows, f"{BAD_ROW},{NAMES[1]}", *more]) + "\n")
    homing.run("import_subscribers", str(file), "--confirmed", "--consent", "they asked for it")


def sign_up(homing: Homing) -> None:
    newcomer = homing.visitor()
    assert newcomer.press("/", "email", email=NEWCOMER, name=NEWCOMER_NAME).status in (
        200,
        302,
        303,
    )
    homing.run("deliver", "--until-empty")
    link = homing.link_in_the_last_mail(
        r"https://letter\.example\.org/subscriptions/confirm/\?subscription_token=([\w-]+)"
    )
    newcomer.get(link)
    form = newcomer.get(link).form_with("csrfmiddlewaretoken")
    assert newcomer.post(form.action or link, form.fields).status in (200, 302, 303)


def letter(title: str = TITLE) -> dict[str, str]:
    return {
        "title": title,
        "html_content": f"<p>Dear {{{{ name|reader }}}}, {WORDS}.</p>",
        "text_content": f"Dear {{{{ name|reader }}}}, {WORDS}.",
    }


def publish(author: Visitor) -> str:
    """An issue, published twice by a double press; its id."""
    form = author.get("/admin/newsletters/").form_with("title")
    fields = {**form.fields, **letter()}
    answers = [author.post("/admin/newsletters/", fields) for _ in range(2)]
    assert [answer.status for answer in answers] == [303, 303]
    page = author.get("/admin/newsletters/issues/")
    found = re.search(r"/admin/newsletters/([0-9a-f-]{36})/", page.html)
    assert found
    return found[1]


def deliver_through_faults(homing: Homing, issue: str) -> None:
    fault = homing.provider.sandbox.set_fault
    fault("unauthorized_401")
    homing.run("deliver", "--until-empty")
    homing.run("edition", "resume", issue, may_fail=True)
    fault("whole_422", code=300, text=f"Illegal address {ADDRESSES[0]} of {NAMES[0]}")
    homing.run("deliver", "--until-empty")
    homing.run("edition", "resume", issue, may_fail=True)
    fault("item_error", code=300, text=f"Invalid 'To' address: {ADDRESSES[0]}.", k=1)
    fault("refuse_429", retry_after=1)
    fault("maintenance_503")
    fault("accept_then_garble")
    fault("accept_then_wrong_length")
    fault("reset")
    fault("search_503")
    with homing.worker("through faults") as worker:
        worker.wait_for("next: ", times=2)
    homing.run("deliver", "--until-empty")


def a_worker_is_killed(homing: Homing, author: Visitor) -> None:
    homing.provider.sandbox.faults.clear()
    publish_another(author, "Another flock")
    gate = homing.provider.sandbox.gate
    homing.provider.sandbox.set_fault("hold", moment="after_accept")
    with homing.worker("killed") as worker:
        assert gate.wait_until(lambda: gate.held > 0, PATIENCE_S)
        worker.kill()
    gate.release()
    homing.provider.sandbox.faults.clear()
    with homing.worker("after the killed one") as worker:
        worker.wait_for("which had it sending")


def publish_another(author: Visitor, title: str) -> Page:
    form = author.get("/admin/newsletters/").form_with("title")
    return author.post(
        "/admin/newsletters/", {**form.fields, **letter(title), "text_content": WORDS}
    )


def the_database_refuses(homing: Homing, url: str, author: Visitor) -> None:
    """It repeats in its words the whole row that it does not take."""
    tables = ("subscriber", "edition", "delivery", "provider_event", "consent_record")
    with psycopg.connect(url, autocommit=True) as operator:
        for table in tables:
            operator.execute(f"ALTER TABLE {table} ADD CONSTRAINT closed CHECK (false) NOT VALID")
        homing.visitor().press("/", "email", email=f"other.{NEWCOMER}", name=NEWCOMER_NAME)
        assert publish_another(author, "A third flock").status == 500
        file = homing.folder / "letter.txt"
        file.write_text(WORDS)
        homing.run(
            *("publish", "--title", TITLE, "--text-file", str(file)),
            *("--html-file", str(file)),
            may_fail=True,
        )
        send_webhook(homing, {"RecordType": "Bounce", "Email": ADDRESSES[0], "Name": NAMES[0]})
        for table in tables:
            operator.execute(f"ALTER TABLE {table} DROP CONSTRAINT closed")
        publish_another(author, "A fourth flock")
        operator.execute("ALTER TABLE delivery ADD CONSTRAINT closed CHECK (false) NOT VALID")
        with homing.worker("refused by the database") as worker:
            worker.wait_for("a step failed")
        operator.execute("ALTER TABLE delivery DROP CONSTRAINT closed")
    # Of the calls that could not be settled the provider is asked; one more has an ordinary end.
    publish_another(author, "A fifth flock")
    homing.run("deliver", "--until-empty")


def the_database_goes_away(homing: Homing, server: OwnServer) -> None:
    with homing.worker("cut off") as worker:
        worker.wait_for("is running")
        (one,) = set(re.findall(r'"worker": "([0-9a-f]{32})"', worker.said))
        at_work = "SELECT count(*) > 0 FROM worker WHERE id = %s"
        eventually(homing.environment["DATABASE_URL"], at_work, one)
        with server.away("immediate"):
            worker.wait_for("OperationalError")
            somebody = homing.visitor()
            assert somebody.get("/archive/").status >= 500
            assert somebody.get(f"/unsubscribe/{homing.permissions[0]}/").status >= 400
            send_webhook(homing, {"RecordType": "Bounce", "Email": ADDRESSES[0]})
            homing.run("audit", may_fail=True)


def send_webhook(homing: Homing, body: Any, password: str = "") -> int:
    told = basic_credentials(WEBHOOK_USER, password or SECRETS["POSTMARK_WEBHOOK_PASSWORD"])
    sent = json.dumps(body) if isinstance(body, dict) else body
    page = homing.visitor().post(
        "/webhooks/postmark/",
        sent,
        **{"Authorization": f"Basic {told}", "Content-Type": "application/json"},
    )
    return page.status


def webhooks(homing: Homing) -> None:
    outbox = homing.provider.sandbox.outbox
    message = outbox.message(outbox.parcels_newest_first()[0].first)
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
    assert send_webhook(homing, event) == 200
    assert send_webhook(homing, event, password=WRONG_PASSWORD) == 401
    assert send_webhook(homing, f"{{broken {ADDRESSES[1]}") == 200
    homing.run("deliver", "--until-empty")


def leave_and_look_at_the_record(homing: Homing) -> None:
    reader = homing.visitor()
    link = homing.link_in_the_last_mail(r"https://letter\.example\.org/unsubscribe/([\w-]+)/")
    assert reader.get(link).status == 200
    assert reader.post(link, {"List-Unsubscribe": "One-Click"}).status == 200
    assert reader.press("/record/", "email", email=NEWCOMER).status in (200, 302, 303)
    homing.run("deliver", "--until-empty")
    link = homing.link_in_the_last_mail(r"https://letter\.example\.org/record/([\w-]+)/")
    assert reader.get(link).status == 200
    assert reader.get(f"{link}record.json").status == 200


def what_no_browser_sends(homing: Homing) -> None:
    permission = homing.permissions[-1]
    stranger = homing.visitor()
    stranger.get("/", Host=BAD_HOST)
    stranger.get(f"/nowhere/{permission}/?email={ADDRESSES[0]}")
    forged = {"Referer": f"https://evil.example/unsubscribe/{permission}/"}
    assert stranger.post("/admin/login/", {"username": AUTHOR}, **forged).status == 403
    assert stranger.get("/metrics", Authorization=f"Bearer {WRONG_PASSWORD}").status >= 400
    for sent in (
        f"GET /record/{permission}/ HTTP/9.9\r\n\r\n",
        f"GET /record/{permission}/ HTTP/1.1\r\nbad header {ADDRESSES[0]}\r\n\r\n",
        f"POST / HTTP/1.1\r\nContent-Length: {ADDRESSES[0]}\r\n\r\n",
    ):
        with socket.create_connection(homing.url.removeprefix("http://").split(":")) as line:
            line.sendall(sent.encode())
            line.recv(1000)


# --- What stands in the logs ----------------------------------------------------------------------


def in_confidence(homing: Homing, server: OwnServer) -> dict[str, list[str]]:
    """Everything that was told in confidence, by what it is."""
    return {
        "a secret": [
            *SECRETS.values(),
            server.password,
            basic_credentials(WEBHOOK_USER, SECRETS["POSTMARK_WEBHOOK_PASSWORD"]),
        ],
        "a password": [PASSWORD, WRONG_PASSWORD],
        "an author": [AUTHOR, *AUTHOR_NAME.split()],
        "a letter": [TITLE, WORDS, "flock", "Thrushes"],
        "a person": [*NAMES, NEWCOMER_NAME, "Balthasar", "balthasar"],
        "an address": [*ADDRESSES, *map(str.lower, ADDRESSES), NEWCOMER, "@aviary", "reader199"],
        "a permission": [each for each in homing.permissions if len(each) > 8],
        "where somebody is": ["203.0.113"],
    }


def services(homing: Homing) -> list[tuple[str, str]]:
    return [(name, line) for name, said in homing.services.items() for line in said.splitlines()]


def logged(homing: Homing) -> list[dict[str, Any]]:
    """Every line of every process that is one of the log."""
    lines = [line for _, line in services(homing)]
    lines += [line for _, errors in homing.commands.values() for line in errors.splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_no_process_wrote_anything_that_was_told_in_confidence(
    homing: Homing, server: OwnServer
) -> None:
    printed = [
        (name, line)
        for name, both in homing.commands.items()
        for line in "".join(both).splitlines()
    ]
    told = in_confidence(homing, server)
    lines = services(homing) + [(name, line) for name, line in printed if line.startswith("{")]
    assert len(lines) > 100
    assert found_in(lines, told) == []
    # Whoever calls a command is told by it what stands on the page: a title, Postmark's own words.
    for what in ("a letter", "a person", "an address"):
        del told[what]
    assert found_in(printed, told) == []


def found_in(lines: list[tuple[str, str]], told: dict[str, list[str]]) -> list[tuple[str, ...]]:
    """What of it stands in which line."""
    return [
        (what, value, name, line)
        for what, values in told.items()
        for value in values
        for name, line in lines
        if value in line
    ]


def test_every_line_of_a_service_is_an_object_with_fields_that_are_listed(homing: Homing) -> None:
    for name, line in services(homing):
        try:
            made = json.loads(line)
        except ValueError:
            pytest.fail(f"{name} wrote a line that is no JSON: {line}")
        assert set(made) <= set(FIELDS), line
    assert {line["process"] for line in logged(homing)} >= {"web", "worker", "publish"}


def test_what_broke_is_told_by_kind_code_and_constraint(homing: Homing) -> None:
    faults = {line["fault"] for line in logged(homing) if "fault" in line}
    assert "IntegrityError, from CheckViolation 23514 closed" in faults
    assert any("OperationalError" in fault for fault in faults)
    by_process = {line["process"] for line in logged(homing) if "CheckViolation" in str(line)}
    assert by_process >= {"web", "worker", "publish"}


def test_each_call_that_a_worker_logged_belongs_to_an_issue_that_the_site_published(
    homing: Homing, server: OwnServer
) -> None:
    lines = logged(homing)
    published = {
        (line["issue"], line["version"]) for line in lines if "was published" in line["event"]
    }
    assert len(published) == 4
    with psycopg.connect(homing.environment["DATABASE_URL"]) as operator:
        rows = operator.execute(
            "SELECT attempt.id, issue_id, version, kind, worker FROM attempt JOIN edition"
            " ON edition.id = attempt.edition_id"
        ).fetchall()
    truth = {attempt.hex: (str(issue), version) for attempt, issue, version, *_ in rows}
    told = {
        line["attempt"]: (line["issue"], line["version"])
        for line in lines
        if "attempt" in line and "issue" in line and line["attempt"] in truth
    }
    # Who is killed between settling a call and its line writes none.
    newsletters = {
        attempt.hex
        for attempt, _, _, kind, worker in rows
        if kind == "newsletter" and worker.hex not in homing.services["killed"]
    }
    assert newsletters <= set(told)
    assert {attempt: told[attempt] for attempt in newsletters} == {
        attempt: truth[attempt] for attempt in newsletters
    }
    assert {told[attempt] for attempt in newsletters} == published


def test_the_sweep_names_the_call_that_a_killed_worker_had_in_hand(homing: Homing) -> None:
    all_of_them = [
        json.loads(line)
        for line in homing.services["after the killed one"].splitlines()
        if "which had it sending" in line
    ]
    assert all_of_them
    for swept in all_of_them:
        assert re.fullmatch(r"[0-9a-f]{32}", swept["attempt"])
        assert swept["attempt"] not in homing.services["killed"]
        assert swept["issue"]
        assert swept["batch"] > 0


def test_the_line_of_a_webhook_names_the_call_that_it_tells_of(homing: Homing) -> None:
    lines = [line for line in logged(homing) if line.get("route") == "/webhooks/postmark/"]
    (told,) = [line for line in lines if "attempt" in line]
    assert told["status"] == 200
    sent = [line for line in logged(homing) if line["logger"] == "delivery.dispatch"]
    assert (told["attempt"], told["issue"]) in {(line["attempt"], line["issue"]) for line in sent}


def test_every_answer_has_the_id_under_which_its_line_stands(homing: Homing) -> None:
    ids = [answer.headers["X-Request-ID"] for answer in homing.answers]
    lines = {line["request"]: line for line in logged(homing) if "route" in line}
    assert len(ids) == len(set(ids)) > 30
    for answer in homing.answers:
        line = lines[answer.headers["X-Request-ID"]]
        assert (line["status"], line["method"]) == (answer.status_code, answer.request.method)
        assert "?" not in line["route"]


def test_no_page_of_an_error_shows_a_secret_or_a_word_of_the_fault(
    homing: Homing, server: OwnServer
) -> None:
    pages = [answer for answer in homing.answers if answer.status_code >= 400]
    assert {answer.status_code for answer in pages} >= {400, 401, 403, 404, 500, 503}
    secret = in_confidence(homing, server)["a secret"]
    for answer in pages:
        assert not [each for each in (*secret, *NAMES, "violates", "closed") if each in answer.text]


def test_the_last_line_of_a_worker_until_all_is_sent_stays_alone_on_stdout(homing: Homing) -> None:
    ran = [both for name, both in homing.commands.items() if name.endswith(" deliver")]
    assert len(ran) > 3
    for output, errors in ran:
        (line,) = output.splitlines()
        assert json.loads(line)["audience"] >= 0
        assert errors


def test_what_a_command_prints_is_no_line_of_the_log(homing: Homing) -> None:
    ((output, errors),) = [
        both for name, both in homing.commands.items() if name.endswith("import_subscribers")
    ]
    assert json.loads(output.splitlines()[-1])["rejected"] == 1
    assert not [line for line in errors.splitlines() if line.startswith("{")]


def test_the_tokens_looked_for_are_of_a_kind_that_the_run_really_had(homing: Homing) -> None:
    assert len({each for each in homing.permissions if len(each) > 20}) >= 5
