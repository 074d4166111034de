"""A real browser before the real site."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright

from postmark_sandbox.server import SandboxServer
from subscribers.models import Subscriber
from tests.browser.web_site import WebSite, running_site
from tests.subscribers.factories import SubscriberFactory

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking")
READERS = 40
# As patient as the pages themselves: a machine may have more to do than this.
expect.set_options(timeout=20_000)


class Running:
    """What tests share as long as one follows the other: a browser, a provider, sites."""

    def __init__(self) -> None:
        self._exits = ExitStack()
        self._begun: dict[object, Any] = {}

    def chromium(self) -> Browser:
        """A Chromium of this machine."""
        return self._once("chromium", self._start_chromium)

    def provider(self) -> SandboxServer:
        """A Postmark that keeps every message it accepts."""
        return self._once("provider", lambda: self._exits.enter_context(SandboxServer()))

    def site(self, database_url: str, settings: dict[str, str]) -> WebSite:
        """A site with these settings."""
        its = running_site(database_url, self.provider().url, settings)
        key = frozenset(settings.items())
        return self._once(key, lambda: self._exits.enter_context(its))

    def end(self) -> None:
        """Stop everything. The next test that needs it starts it again."""
        self._begun.clear()
        self._exits.close()

    def _once(self, key: object, start: Callable[[], Any]) -> Any:
        if key not in self._begun:
            self._begun[key] = start()
        return self._begun[key]

    def _start_chromium(self) -> Browser:
        path = next((found for name in NAMES if (found := shutil.which(name))), None)
        if path is None:
            # CI has one; a machine with nothing but Python need not, and is told so.
            (pytest.fail if os.environ.get("CI") else pytest.skip)(
                "No Chromium was found on this machine, and these tests drive one: install the "
                "package chromium to run them too."
            )
        # Playwright's loop runs in this thread, and Django takes that for asynchronous code.
        patch = self._exits.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        playwright = self._exits.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        self._exits.callback(browser.close)
        return browser


running = Running()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Stop what these tests share before a test of another directory: it writes counts later."""
    yield
    if nextitem is not None and not nextitem.path.is_relative_to(Path(__file__).parent):
        running.end()


@pytest.fixture(scope="session")
def address_of_database(database_url: str) -> Iterator[str]:
    """The database's address. Everything has stopped before the database is removed."""
    yield database_url
    running.end()


@pytest.fixture
def chromium() -> Browser:
    """A Chromium of this machine."""
    return running.chromium()


@pytest.fixture
def provider() -> SandboxServer:
    """A Postmark that keeps every message it accepts, and has none yet."""
    running.provider().sandbox.reset()
    return running.provider()


@pytest.fixture
def site_settings() -> dict[str, str]:
    """The settings of the site, where they differ from those of the other tests."""
    return {}


@pytest.fixture
def site(
    transactional_db: None,
    address_of_database: str,
    provider: SandboxServer,
    site_settings: dict[str, str],
) -> Iterator[WebSite]:
    """The site. It has answered every request when the test's rows are removed."""
    site = running.site(address_of_database, site_settings)
    yield site
    site.requests.wait_for_end()


@pytest.fixture
def readers(transactional_db: None) -> list[Subscriber]:
    """Forty confirmed readers."""
    return Subscriber.objects.bulk_create(SubscriberFactory.build_batch(READERS))


@pytest.fixture
def author(transactional_db: None) -> Any:
    """Edith Marlow, who may do everything."""
    return get_user_model().objects.create_superuser(
        "edith", password="a long password", first_name="Edith", last_name="Marlow"
    )


@pytest.fixture
def new_page(chromium: Browser, site: WebSite) -> Iterator[Callable[..., Page]]:
    """
    Open windows of browsers that know nothing of one another, for somebody signed in or nobody.

    A window that broke the content security policy, or met an error in a script, fails its test.
    """
    complaints: list[str] = []

    def heard(message: Any) -> None:
        if "Content Security Policy" in message.text:
            complaints.append(f"{message.location['url']}: {message.text}")

    with ExitStack() as exits:

        def open_one(user: Any = None, **options: Any) -> Page:
            context = chromium.new_context(
                base_url=site.url, **{"reduced_motion": "reduce", **options}
            )
            exits.callback(context.close)
            # A page with unsaved words is left when it is asked to.
            context.on("dialog", lambda dialog: dialog.accept())
            if user is not None:
                client = Client()
                client.force_login(user)
                cookie = client.cookies["sessionid"].value
                context.add_cookies([{"name": "sessionid", "value": cookie, "url": site.url}])
            page = context.new_page()
            page.set_default_timeout(20_000)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", heard)
            return page

        yield open_one
    assert complaints == []


@pytest.fixture
def desk(new_page: Callable[..., Page], author: Any, readers: list[Subscriber]) -> Page:
    """A window of Edith, who has readers and is signed in."""
    return new_page(author)
