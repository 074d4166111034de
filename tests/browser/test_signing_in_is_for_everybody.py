"""The pages around signing in: for everybody, with and without scripts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice
from playwright.sync_api import Page, expect

from delivery.models import Edition
from publishing.models import Draft
from publishing.publish import publish
from tests.browser.at_the_desk import WRITE, come_to, sign_in
from tests.browser.for_everybody import faults_of
from tests.newsletter_site.every_address import every_address
from tests.publishing.letters import letter

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/second-factor/"


def code_now() -> str:
    """What the app on the telephone shows; that it was used before is forgotten."""
    TOTPDevice.objects.update(last_t=-1)
    device = TOTPDevice.objects.get()
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    totp.time = time.time()
    return f"{totp.token():06d}"


def is_for_everybody(page: Page, heading: str) -> None:
    """The page with this heading is shown, and has no faults."""
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    assert faults_of(page) == {}


def set_it_up(page: Page) -> None:
    page.get_by_label("Your password").fill("a long password")
    page.get_by_role("button", name="Set it up").click()
    expect(page.get_by_label("The code that the app shows")).to_be_visible()


def switch_it_on(page: Page) -> None:
    page.get_by_label("The code that the app shows").fill(code_now())
    page.get_by_role("button", name="Switch it on").click()


def test_the_way_to_a_second_factor_and_back_in_is_for_everybody(
    new_page: Callable[..., Page], author: Any
) -> None:
    page = come_to(new_page(), PAGE)
    is_for_everybody(page, "Second factor")
    set_it_up(page)
    is_for_everybody(page, "Second factor")
    picture = page.get_by_alt_text("QR code of the secret below")
    assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
    switch_it_on(page)
    is_for_everybody(page, "Your recovery codes")
    page.get_by_role("link", name="I have kept them").click()
    is_for_everybody(page, "Second factor")

    page.context.clear_cookies()
    page.goto(WRITE)
    sign_in(page)
    is_for_everybody(page, "Your code")
    page.get_by_label("Six digits from your app").fill(code_now())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**{WRITE}")


def test_what_is_said_of_failed_sign_ins_is_for_everybody(
    new_page: Callable[..., Page], author: Any
) -> None:
    page = new_page()
    page.goto("/admin/login/")
    for number in range(6):
        sign_in(page, "nobody")
        if not number:
            expect(page.get_by_role("alert")).to_be_visible()
            is_for_everybody(page, "Sign in")
    is_for_everybody(page, "Too many failed sign-ins")


def test_the_whole_way_works_without_scripts(new_page: Callable[..., Page], author: Any) -> None:
    page = come_to(new_page(java_script_enabled=False), PAGE)
    set_it_up(page)
    switch_it_on(page)

    expect(page.locator(".codes li")).to_have_count(10)


def test_no_page_asks_its_browser_for_what_its_policy_forbids(desk: Page, author: Any) -> None:
    publish(author.pk, "a key", letter(), hold_s=0)
    draft = Draft.objects.create(title="A draft", begun_by=author, saved_by=author)
    edition = Edition.objects.get()
    seen = 0
    for one in every_address(
        issue=str(edition.issue_id),
        draft=str(draft.pk),
        object_id=str(author.pk),
        id=str(author.pk),
    ):
        if one.route.endswith(("logout/", ".csv", ".json", "feed.xml", "metrics")):
            continue
        answer = desk.request.get(one.path, max_redirects=0)
        # What is not there is told under DEBUG by a page of Django's own.
        if answer.status == 200 and "html" in answer.headers.get("content-type", ""):
            # The window itself fails the test for what is refused.
            desk.goto(one.path)
            desk.wait_for_load_state()
            seen += 1
    assert seen > 30
