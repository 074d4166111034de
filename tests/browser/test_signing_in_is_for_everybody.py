"""The pages around signing in: by ear, by keyboard, in the dark, on a phone, without scripts."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice
from playwright.sync_api import Browser, Page, expect

from delivery.models import Edition
from publishing.models import Draft
from publishing.publish import publish
from tests.browser.at_the_desk import come_to
from tests.browser.for_everybody import (
    NARROWEST,
    faults_found_by_axe,
    out_of_reach_of_the_keyboard,
    scrolls_sideways,
)
from tests.browser.web_site import WebSite
from tests.newsletter_site.every_address import every_address
from tests.publishing.letters import letter

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/second-factor/"


@pytest.fixture
def edith(transactional_db: None) -> Any:
    """Edith, who may do everything."""
    return get_user_model().objects.create_superuser("edith", password="a long password")


def code_now() -> str:
    """What the app on the telephone shows; that it was used before is forgotten."""
    TOTPDevice.objects.update(last_t=-1)
    device = TOTPDevice.objects.get()
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    totp.time = time.time()
    return f"{totp.token():06d}"


def fail_to_sign_in(page: Page) -> None:
    page.get_by_label("User name").fill("edith")
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Sign in").click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_way_to_a_second_factor_and_back_in_is_for_everybody(
    chromium: Browser, site: WebSite, edith: Any, scheme: str
) -> None:
    context = chromium.new_context(
        base_url=site.url, viewport=NARROWEST, color_scheme=scheme, java_script_enabled=True
    )
    page = context.new_page()

    def is_for_everybody(heading: str) -> None:
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        assert faults_found_by_axe(page) == []
        assert not scrolls_sideways(page)
        assert out_of_reach_of_the_keyboard(page) == []

    come_to(page, PAGE)
    is_for_everybody("Second factor")
    page.get_by_label("Your password").fill("a long password")
    page.get_by_role("button", name="Set it up").click()
    is_for_everybody("Second factor")
    picture = page.get_by_alt_text("QR code of the secret below")
    assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
    page.get_by_label("The code that the app shows").fill(code_now())
    page.get_by_role("button", name="Switch it on").click()
    is_for_everybody("Your recovery codes")
    page.get_by_role("link", name="I have kept them").click()
    is_for_everybody("Second factor")

    context.clear_cookies()
    page.goto("/admin/newsletters/write/")
    page.get_by_label("User name").fill("edith")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Sign in").click()
    is_for_everybody("Your code")
    page.get_by_label("Six digits from your app").fill(code_now())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/admin/newsletters/write/")
    context.close()


def test_the_page_that_says_when_to_try_again_is_for_everybody(
    chromium: Browser, site: WebSite, edith: Any
) -> None:
    context = chromium.new_context(base_url=site.url, viewport=NARROWEST)
    page = context.new_page()
    page.goto("/admin/login/")
    for _ in range(6):
        fail_to_sign_in(page)

    expect(page.get_by_role("heading", level=1)).to_have_text("Too many failed sign-ins")
    assert faults_found_by_axe(page) == []
    assert not scrolls_sideways(page)
    assert out_of_reach_of_the_keyboard(page) == []
    context.close()


def test_the_whole_way_works_without_scripts(chromium: Browser, site: WebSite, edith: Any) -> None:
    context = chromium.new_context(base_url=site.url, java_script_enabled=False)
    page = context.new_page()
    come_to(page, PAGE)
    page.get_by_label("Your password").fill("a long password")
    page.get_by_role("button", name="Set it up").click()
    page.get_by_label("The code that the app shows").fill(code_now())
    page.get_by_role("button", name="Switch it on").click()

    expect(page.locator(".codes li")).to_have_count(10)
    context.close()


WATCH = """
window.refused = [];
document.addEventListener('securitypolicyviolation', event => {
  window.refused.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile || ''}`);
});
"""


def test_no_page_asks_its_browser_for_what_its_policy_forbids(
    chromium: Browser, site: WebSite, edith: Any
) -> None:
    context = chromium.new_context(base_url=site.url)
    context.add_init_script(WATCH)
    page = context.new_page()
    come_to(page, "/admin/")
    refused: dict[str, list[str]] = {}
    seen = 0
    publish(edith.pk, "a key", letter(), hold_s=0)
    draft = Draft.objects.create(title="A draft", begun_by=edith, saved_by=edith)
    edition = Edition.objects.get()
    for one in every_address(
        issue=str(edition.issue_id), draft=str(draft.pk), object_id=str(edith.pk), id=str(edith.pk)
    ):
        if one.route.endswith(("logout/", ".csv", ".json", "feed.xml", "metrics")):
            continue
        answer = context.request.get(one.path, max_redirects=0)
        # What is not there is told under DEBUG by a page of Django's own.
        if answer.status != 200 or "html" not in answer.headers.get("content-type", ""):
            continue
        page.goto(one.path)
        page.wait_for_load_state()
        seen += 1
        if found := page.evaluate("window.refused"):
            refused[one.route] = found
    assert refused == {}, refused
    assert seen > 30
    context.close()
