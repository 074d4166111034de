"""Passkeys with a real browser and its virtual authenticator."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Page, expect

from newsletter_site.models import Passkey
from tests.browser.author_session import WRITE, sign_in
from tests.browser.pages.accessibility import faults_of
from tests.browser.web_site import WebSite

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # Browsers allow passkeys only for sites with a name.
    pytest.mark.parametrize(
        "site_settings", [{"SITE_URL": "http://localhost:{port}"}], ids=["localhost"]
    ),
]

PAGE = "/admin/passkeys/"
PASSWORD = "a long password"
DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
WITHOUT_JSON = """
  delete PublicKeyCredential.parseCreationOptionsFromJSON;
  delete PublicKeyCredential.parseRequestOptionsFromJSON;
  delete PublicKeyCredential.prototype.toJSON;
"""


def with_device(page: Page) -> tuple[CDPSession, str]:
    """Give the page's browser a device for passkeys."""
    browser = page.context.new_cdp_session(page)
    browser.send("WebAuthn.enable")
    device = browser.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    return browser, device["authenticatorId"]


def is_for_everybody(page: Page, heading: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    assert faults_of(page) == {}


def open_passkeys(page: Page, site: WebSite) -> None:
    page.goto(site.environment["SITE_URL"] + PAGE)
    page.get_by_label("User name").fill("edith")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def begin(page: Page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Add passkey").click()


def sign_in_by_passkey(page: Page) -> None:
    page.get_by_role("button", name="Sign in with a passkey").click()


@pytest.mark.parametrize("is_old", [False, True], ids=["new browser", "old browser"])
def test_a_passkey_is_added_used_and_deleted(
    new_page: Callable[..., Page], site: WebSite, author: Any, is_old: bool
) -> None:
    page = new_page()
    if is_old:
        page.add_init_script(WITHOUT_JSON)
    with_device(page)
    open_passkeys(page, site)
    is_for_everybody(page, "Passkeys")
    begin(page, "Laptop")
    expect(page.get_by_role("button", name="Create passkey")).to_be_visible()
    is_for_everybody(page, "Passkeys")
    page.get_by_role("button", name="Create passkey").click()
    expect(page.get_by_text("“Laptop” can now sign you in.")).to_be_visible()
    is_for_everybody(page, "Passkeys")

    page.context.clear_cookies()
    page.goto(site.environment["SITE_URL"] + WRITE)
    expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_visible()
    is_for_everybody(page, "Sign in")
    sign_in_by_passkey(page)
    page.wait_for_url(site.environment["SITE_URL"] + WRITE)

    page.goto(site.environment["SITE_URL"] + PAGE)
    expect(page.get_by_text("Last used on")).to_be_visible()
    page.get_by_role("link", name="Rename or delete “Laptop”").click()
    is_for_everybody(page, "Laptop")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Delete passkey").click()
    expect(page.get_by_text("“Laptop” no longer signs you in.")).to_be_visible()
    assert not Passkey.objects.exists()

    # The device still has the passkey, but the site refuses it. The password works.
    page.context.clear_cookies()
    page.goto(site.environment["SITE_URL"] + WRITE)
    sign_in_by_passkey(page)
    expect(page.get_by_role("alert").first).to_contain_text("The passkey was not accepted.")


def test_a_device_that_refuses_leaves_the_page_as_it_was(
    new_page: Callable[..., Page], site: WebSite, author: Any
) -> None:
    page = new_page()
    browser, device = with_device(page)
    open_passkeys(page, site)
    begin(page, "Laptop")
    browser.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
    page.get_by_role("button", name="Create passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("you cancelled, or it took too long")
    is_for_everybody(page, "Passkeys")
    browser.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": True})
    page.get_by_role("button", name="Create passkey").click()
    expect(page.get_by_text("“Laptop” can now sign you in.")).to_be_visible()
    begin(page, "Laptop again")
    page.get_by_role("button", name="Create passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("already has a passkey")
    assert Passkey.objects.count() == 1


def test_without_scripts_the_password_still_signs_in(
    new_page: Callable[..., Page], site: WebSite, author: Any
) -> None:
    page = new_page(java_script_enabled=False)
    page.goto(site.environment["SITE_URL"] + WRITE)
    expect(page.get_by_role("button")).to_have_count(1)
    sign_in(page)
    page.wait_for_url(site.environment["SITE_URL"] + WRITE)
    page.goto(site.environment["SITE_URL"] + PAGE)
    begin(page, "Laptop")
    expect(page.get_by_text("This step needs scripts")).to_be_visible()
