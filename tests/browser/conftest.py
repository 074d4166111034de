"""A real browser before the real site."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Browser, Page, expect, sync_playwright

from postmark_sandbox.server import SandboxServer
from subscribers.models import Subscriber
from tests.browser.at_the_desk import FORM, come_to
from tests.browser.web_site import WebSite, running_site
from tests.subscribers.factories import SubscriberFactory

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
READERS = 40
# As patient as the pages themselves: a machine may have more to do than this.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="package", autouse=True)
def _django_beside_playwright() -> Iterator[None]:
    """Playwright's loop runs in this thread, and Django takes that for asynchronous code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A Chromium of this machine."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        # CI has one; a machine with nothing but Python need not, and is told so.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "No Chromium was found on this machine, and these tests drive one: install the "
            "package chromium to run them too."
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def provider() -> Iterator[SandboxServer]:
    """A Postmark that keeps every message it accepts."""
    with SandboxServer() as server:
        yield server


@pytest.fixture
def site_settings() -> dict[str, str]:
    """What a test wants the site to run with that others do not."""
    return {}


@pytest.fixture
def site(
    transactional_db: None,
    database_url: str,
    provider: SandboxServer,
    site_settings: dict[str, str],
) -> Iterator[WebSite]:
    """The site, in a process of its own: what it remembers ends with the test's database."""
    with running_site(database_url, provider.url, site_settings) as site:
        yield site


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
    Open windows of browsers that know nothing of one another.

    A window that broke the content security policy, or met an error in a script, fails its test.
    """
    contexts = []
    complaints: list[str] = []

    def open_one(**options: Any) -> Page:
        context = chromium.new_context(base_url=site.url, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text)
                if "Content Security Policy" in message.text
                else None
            ),
        )
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def desk(new_page: Callable[..., Page], author: Any, readers: list[Subscriber]) -> Page:
    """A window in which Edith, who has readers, has come to the publishing form by signing in."""
    return come_to(new_page(), FORM)
