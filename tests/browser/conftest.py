"""A real browser on the real site."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright

from postmark_sandbox.server import SandboxServer
from subscribers.models import Subscriber
from tests.browser.web_site import WebSite, running_site
from tests.subscribers.factories import SubscriberFactory

# Prefer the headless shell, because drawing a window takes longer than loading most pages.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking")
READERS = 40
# A mark for tests that need a hold or several batches.
HELD_IN_BATCHES = pytest.mark.parametrize(
    "site_settings", [{"PUBLISH_HOLD_S": "600", "DELIVERY_BATCH_SIZE": "5"}], ids=["held"]
)
T = TypeVar("T")
# Wait this long, because the machine may be busy.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


class Running:
    """Objects that successive tests share: a browser, a provider, sites."""

    def __init__(self) -> None:
        self._exits = ExitStack()
        self._begun: dict[object, Any] = {}

    def once(self, key: object, started: Callable[[], AbstractContextManager[T]]) -> T:
        if key not in self._begun:
            self._begun[key] = self._exits.enter_context(started())
        return cast("T", self._begun[key])

    def end(self) -> None:
        """Stop all shared objects. The next test that needs an object starts it again."""
        self._begun.clear()
        self._exits.close()


running = Running()


@contextmanager
def a_chromium() -> Iterator[Browser]:
    """Run this machine's Chromium for the block."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        # CI always has Chromium. Any other machine without Chromium skips the browser tests.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "No Chromium was found on this machine, and these tests drive one: install the "
            "package chromium-headless-shell or chromium to run them too."
        )
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's event loop runs in this thread, so Django would refuse queries as
        # asynchronous.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        with playwright.chromium.launch(executable_path=path, args=ARGUMENTS) as browser:
            yield browser


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Stop shared objects before tests of another folder.

    If the shared site continued to run, it would write counters during the tests of that folder.
    """
    yield
    if nextitem is not None and not nextitem.path.is_relative_to(Path(__file__).parent):
        running.end()


@pytest.fixture(scope="session")
def _ends_before_the_database(database_url: str) -> Iterator[None]:
    yield
    running.end()


@pytest.fixture
def chromium() -> Browser:
    return running.once("chromium", a_chromium)


@pytest.fixture
def provider() -> SandboxServer:
    """Return an empty sandbox that keeps every accepted message."""
    provider = running.once("provider", SandboxServer)
    provider.sandbox.reset()
    return provider


@pytest.fixture
def site_settings() -> dict[str, str]:
    """Return extra settings for this test's site; tests parametrise them."""
    return {}


@pytest.fixture
def site(
    transactional_db: None,
    _ends_before_the_database: None,
    database_url: str,
    provider: SandboxServer,
    site_settings: dict[str, str],
) -> Iterator[WebSite]:
    """Run the site. After the test, wait until the site has answered every request."""
    its = partial(running_site, database_url, provider.url, site_settings)
    site = running.once(frozenset(site_settings.items()), its)
    yield site
    site.requests.wait_for_end()


@pytest.fixture
def readers(transactional_db: None) -> list[Subscriber]:
    return Subscriber.objects.bulk_create(SubscriberFactory.build_batch(READERS))


@pytest.fixture
def author(transactional_db: None) -> Any:
    return create_author()


def create_author(name: str = "edith") -> Any:
    """Create Edith Marlow, who has all permissions."""
    return get_user_model().objects.create_superuser(
        name, password="a long password", first_name="Edith", last_name="Marlow"
    )


@pytest.fixture
def new_page(chromium: Browser, site: WebSite) -> Iterator[Callable[..., Page]]:
    """Open isolated browser windows, signed in or not.

    A window that breaks the content security policy or meets a script error fails its test.
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
            # The browser asks before it leaves a page with unsaved text. Accept this question.
            context.on("dialog", lambda dialog: dialog.accept())
            if user is not None:
                client = Client()
                client.force_login(user)
                cookie = client.cookies["sessionid"].value
                context.add_cookies([{"name": "sessionid", "value": cookie, "url": site.url}])
            context.set_default_timeout(PATIENCE_MS)
            context.on("weberror", lambda error: complaints.append(str(error.error)))
            context.on("console", heard)
            return context.new_page()

        yield open_one
    assert complaints == []


@pytest.fixture
def desk(new_page: Callable[..., Page], author: Any, readers: list[Subscriber]) -> Page:
    """Open a window of Edith, who has readers and is signed in."""
    return new_page(author)
