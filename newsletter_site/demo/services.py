"""What must be up before anybody can publish: database, sandbox, site, workers, author."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from django.core.management import call_command
from django.db import connection
from django.urls import reverse

from newsletter_site.demo.author import Author, author_of_this_run
from newsletter_site.demo.browser import Browser
from newsletter_site.demo.children import Children
from newsletter_site.demo.console import Screen
from newsletter_site.demo.environment import childrens_environment
from newsletter_site.demo.readers import refuse_other_readers
from newsletter_site.demo.sandbox import DEFAULT_PORT as SANDBOX_PORT
from newsletter_site.demo.sandbox import Sandbox, start_sandbox
from newsletter_site.demo.single_instance import refuse_other_workers
from newsletter_site.demo.stop_signals import Stopping
from newsletter_site.demo.web_site import DEFAULT_PORT as SITE_PORT
from newsletter_site.demo.web_site import address_of, listening_socket, start_site

WORKERS = 2
WEBHOOK_USER = "sandbox"


@dataclass(frozen=True, slots=True)
class Stage:
    """What is up: the sandbox, the site, who may sign in, and a browser that is signed in."""

    sandbox: Sandbox
    site_url: str
    author: Author
    browser: Browser


def open_database(screen: Screen) -> None:
    """
    The database up, ours to use, and its tables there.

    Raises `DemoError` if it holds somebody's readers or another worker is at work.
    """
    refuse_other_readers()
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        version = cursor.fetchone()[0].split()[0]
    embedded = "EMBEDDED_POSTGRES" in connection.settings_dict
    where = f"of our own, in {_home_of_the_data()}" if embedded else "of DATABASE_URL"
    screen.step(f"PostgreSQL {version} {where}")
    call_command("migrate", verbosity=0, interactive=False)
    refuse_other_workers()
    screen.step("its tables, up to date")


def _home_of_the_data() -> Path:
    """The folder that holds the database, which is not ours where its user may not enter that."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW data_directory")
        return Path(cursor.fetchone()[0]).parent


def set_up(screen: Screen, stopping: Stopping, children: Children, folder: Path) -> Stage:
    """The sandbox, the site, the workers and the author. Raises `DemoError`."""
    with listening_socket() as listener:
        site_url = address_of(listener)
        desk_url = f"{site_url}{reverse('desk:issues')}"
        sandbox = start_sandbox(children, childrens_environment(folder), stopping, desk_url)
        screen.step(
            f"a sandbox that stands in for Postmark, at {sandbox.url}/"
            + _because_taken(SANDBOX_PORT, sandbox.url)
        )
        password = secrets.token_urlsafe()
        environment = childrens_environment(
            folder,
            SITE_URL=site_url,
            POSTMARK_BASE_URL=sandbox.url,
            POSTMARK_WEBHOOK_USER=WEBHOOK_USER,
            POSTMARK_WEBHOOK_PASSWORD=password,
        )
        start_site(children, environment, listener)
    for number in range(1, WORKERS + 1):
        children.start(f"worker {number}", "manage", "deliver", environment=environment)
    author = author_of_this_run()
    browser = Browser(site_url)
    browser.sign_in(author.username, author.password)
    sandbox.tell(site_url, WEBHOOK_USER, password)
    screen.step(
        f"the site, at {site_url}/, and {WORKERS} workers" + _because_taken(SITE_PORT, site_url)
    )
    return Stage(sandbox, site_url, author, browser)


def _because_taken(usual_port: int, url: str) -> str:
    return "" if url.endswith(f":{usual_port}") else f" (port {usual_port} is taken)"
