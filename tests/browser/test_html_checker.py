"""Every page is valid HTML, by the Nu HTML checker."""

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import Resolver404, resolve
from django.views.defaults import server_error
from playwright.sync_api import Page, Response

from newsletter_site.middleware.error_pages import service_unavailable
from postmark_sandbox.server import SandboxServer
from tests.browser.conftest import READERS, create_author
from tests.browser.pages import admin_pages
from tests.browser.pages.accessibility import Pages, Shown
from tests.browser.pages.public_pages import reader_pages
from tests.browser.test_accessibility import SAME_WITHOUT_SCRIPTS, WITH_SCRIPTS
from tests.installed_programs import program
from tests.newsletter_site.every_url import every_address
from tests.newsletter_site.sign_in.two_step.two_step_browser import PAGE as TWO_STEP
from tests.newsletter_site.sign_in.two_step.two_step_browser import Browser, code_now
from tests.postmark_sandbox.caller import Caller, a_message
from tests.subscribers.factories import SubscriberFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]

LOCKED = Path(__file__).parents[2] / ".ci" / "html_checker"
# Faults that are allowed, each with its cause.
ALLOWED = {
    "Attribute “disabled” not allowed on element “div” at this point.": "Django's password field",
    "No “p” element in scope but a “p” end tag seen.": "Django's list of rules for passwords",
}
# Routes that need an object and have no page of their own, each with its reason.
NO_PAGES = {
    "admin/r/<path:content_type_id>/<path:object_id>/": "leads elsewhere",
    "admin/newsletters/drafts/<uuid:draft>/address/": "leads to the check sheet",
    "admin/newsletters/drafts/<uuid:draft>/approve/": "takes a form only",
    "admin/newsletters/<uuid:issue>/listing/": "takes a form only",
    "admin/login/organisation/": "leads to the organisation",
    "admin/login/organisation/back/": "leads elsewhere",
    "webhooks/<slug:path>/": "takes reports of providers",
    "webhooks/<slug:path>": "takes reports of providers",
}
FILES = (".json", ".csv", ".svg", ".webp", ".<slug:extension>")
# Fields that may occur repeatedly in a form, once for each choice.
REPEATED = {"_selected_action", "shown"}


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Install the locked checker; return the command that runs it."""
    java, npm = program("java", package="default-jre-headless"), program("npm", package="npm")
    folder = tmp_path_factory.mktemp("html_checker")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCKED / name, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            f"npm could not install the Nu HTML checker:\n{run.stderr}"
        )
    jar = folder / "node_modules" / "vnu-jar" / "build" / "dist" / "vnu.jar"
    options = ("--format", "json", "--stdout", "--errors-only", "--exit-zero-always")
    return [java, "-jar", str(jar), *options]


class Documents:
    """Documents of the site, each in a file, and the routes of these documents."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, str] = {}
        self.routes: set[str] = set()

    def add(self, name: str, html: str, url: str = "") -> None:
        file = f"{len(self.names)}.html"
        (self.folder / file).write_text(html)
        self.names[file] = name
        # Pages of the sandbox have no route.
        with suppress(Resolver404):
            self.routes.add(resolve(urlsplit(url).path).route)

    def visit(self, pages: Pages, page: Page) -> None:
        """Open each page. A page without an action is requested without the browser."""
        answers: list[Response] = []
        page.on("response", lambda one: is_document(one, page) and answers.append(one))
        for name, shown in pages.items():
            if shown.done is Shown.done:
                answer = page.request.get(shown.address)
                self.add(name, answer.text(), answer.url)
            else:
                shown.visit(page)
                self.add(name, answers[-1].text(), answers[-1].url)

    def request(self, client: Client, path: str) -> int:
        """Add the page at this path if there is one; return the status of the answer."""
        answer = client.get(path, secure=True)
        is_html = answer.headers.get("Content-Type", "").startswith("text/html")
        if is_html and not answer.streaming and b"<html" in answer.content:
            self.add(f"{path} ({answer.status_code})", answer.content.decode(), path)
        return answer.status_code if is_html else 0

    def faults(self, checker: list[str]) -> list[str]:
        """Return the checker's findings, and fields with the same name in one form."""
        files = [str(self.folder / file) for file in self.names]
        run = subprocess.run([*checker, *files], capture_output=True, text=True, check=False)
        found = json.loads(run.stdout)["messages"]
        shown = [
            f"{self.names[Path(one['url']).name]}: {one['message']} {one.get('extract', '')}"
            for one in found
            if one["message"] not in ALLOWED
        ]
        for file, name in self.names.items():
            fields = Fields()
            fields.feed((self.folder / file).read_text())
            shown += [f"{name}: two fields are named {field}" for field in fields.repeated()]
        return shown


class Fields(HTMLParser):
    """The named fields of each form, without radio buttons, checkboxes and buttons."""

    def __init__(self) -> None:
        super().__init__()
        self._forms = 0
        self._form = ""
        self._found: Counter[tuple[str, str]] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        its = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._forms += 1
            self._form = its.get("id") or str(self._forms)
        is_choice = its.get("type") in ("radio", "checkbox", "submit")
        if tag in ("input", "select", "textarea") and its.get("name") and not is_choice:
            self._found[its.get("form", self._form), its["name"]] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = ""

    def repeated(self) -> set[str]:
        return {name for (_form, name), count in self._found.items() if count > 1} - REPEATED


def is_document(one: Response, page: Page) -> bool:
    return one.request.is_navigation_request() and one.frame == page.main_frame


def test_every_page_is_valid_html(
    checker: list[str], new_page: Callable[..., Page], transactional_db: None, tmp_path: Path
) -> None:
    documents = Documents(tmp_path)
    groups = {"public": reader_pages, **SAME_WITHOUT_SCRIPTS, **WITH_SCRIPTS}
    for group, pages in groups.items():
        call_command("flush", interactive=False, verbosity=0)
        author = create_author()
        if group in WITH_SCRIPTS:
            SubscriberFactory.create_batch(READERS)
        window = new_page(None if pages is reader_pages else author)
        named = {f"{group}: {name}": shown for name, shown in pages(author).items()}
        documents.visit(named, window)
        window.context.close()
    call_command("flush", interactive=False, verbosity=0)
    for who, pages in admin_pages.administration().items():
        window = new_page(who)
        documents.visit({f"administration: {name}": one for name, one in pages.items()}, window)
        window.context.close()
    _error_pages(documents)
    _two_step_pages(documents)
    _sandbox_pages(documents, new_page())
    forgotten = _forgotten(documents)
    assert (forgotten, documents.faults(checker)) == ([], [])


def _forgotten(documents: Documents) -> list[str]:
    """Open every address; return the routes of pages that no visit in this file opens."""
    signed_in, visitor = Client(raise_request_exception=False), Client()
    signed_in.force_login(create_author("lidia"))
    visited = documents.routes.copy()
    missing = []
    for address in every_address():
        is_file = address.route.endswith(FILES) or address.route.startswith("api/")
        # Skip these: signing out would end the session, and a preview is a mail, with markup for
        # old mail programs.
        if is_file or "/logout/" in address.route or "/preview/" in address.route:
            continue
        documents.request(visitor, address.path)
        status = documents.request(signed_in, address.path)
        # The routes that are regular expressions match damaged addresses, which need no visit.
        is_known = address.route in visited | NO_PAGES.keys() or "(?" in address.route
        if status == 404 and not is_known:
            missing.append(address.route)
    return missing


def _error_pages(documents: Documents) -> None:
    """Add the error pages that no address of the site leads to."""
    request = RequestFactory().get("/")
    answers: dict[str, HttpResponse | Any] = {
        "server error": server_error(request),
        "no database": service_unavailable(request, why="It restarts.", was_begun=True),
        "unknown host": Client().get("/", headers={"host": "nobody.example"}, secure=True),
        "old form": Client(enforce_csrf_checks=True).post("/admin/login/", secure=True),
        "too large": Client().post("/admin/login/", {"username": "x" * 40 * 1024**2}, secure=True),
    }
    for name, answer in answers.items():
        assert answer.status_code >= 400
        documents.add(name, answer.content.decode())
    documents.add("unread request", render_to_string("web_server_refusal.html"))


def _two_step_pages(documents: Documents) -> None:
    """Add the pages of two-step sign-in, and the page after too many wrong passwords."""
    create_author()
    window = Browser()
    window.sign_in()
    answers = {"begin": window.send(TWO_STEP, do="begin", password_or_code="no")}
    window.send(TWO_STEP, do="begin", password_or_code="a long password")
    answers["set up"] = window.at(TWO_STEP)
    answers["recovery codes"] = window.send(TWO_STEP, do="confirm", code=code_now())
    answers["it is on"] = window.at(TWO_STEP)
    answers["code"] = Browser().sign_in()
    for _ in range(6):
        answers["wait"] = Browser().send("/admin/login/", username="x", password="x")
    assert answers["wait"].status_code == 429
    for name, answer in answers.items():
        documents.add(f"two-step sign-in: {name}", answer.content.decode())


def _sandbox_pages(documents: Documents, page: Page) -> None:
    with SandboxServer(unsubscribe_handling="Postmark") as server:
        documents.add("sandbox, empty", page.request.get(server.url).text())
        Caller(server.url).send(a_message())
        page.goto(server.url)
        events = page.get_by_role("link", name="Events").get_attribute("href")
        leave = f"/unsubscribe/{server.sandbox.outbox.id_of(0)}/"
        for path in ("/", "/faults", "/calls", events, leave):
            answer = page.request.get(f"{server.url}{path}")
            assert answer.ok
            documents.add(f"sandbox: {path}", answer.text())
