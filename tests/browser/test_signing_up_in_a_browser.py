"""From the form to the list in a real browser, without scripts: the mail is read in between."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from postmark_sandbox.server import SandboxServer
from subscribers.models import ConsentRecord, Subscriber
from tests.browser.web_site import WebSite

pytestmark = pytest.mark.django_db(transaction=True)

ADA = "ada@posthouse.example.org"


def link_in_the_mail(provider: SandboxServer, site: WebSite) -> str:
    """Deliver, and find the link in the one mail to Ada."""
    site.deliver()
    mail = provider.sandbox.outbox.message(0)
    assert mail.recipients == [ADA]
    found = re.search(r"https?://\S+subscription_token=[\w-]+", mail.item["TextBody"])
    assert found is not None
    return found.group()


def test_signing_up_and_confirming_need_no_script(
    new_page: Callable[..., Page], site: WebSite, provider: SandboxServer
) -> None:
    page = new_page(java_script_enabled=False)
    page.goto("/")
    page.get_by_label("Email address").fill(ADA)
    page.get_by_label("Name").fill("Ada Whitlock")
    page.get_by_role("button", name="Subscribe").click()
    expect(page.get_by_role("heading", name="Look in your mailbox")).to_be_visible()

    # Another browser, as on a phone: it has no cookie of the first.
    phone = new_page(java_script_enabled=False)
    phone.goto(link_in_the_mail(provider, site))
    phone.get_by_role("button", name="Yes, send me the letter").click()

    expect(phone.get_by_role("heading", name="You are on the list")).to_be_visible()
    reader = Subscriber.objects.get()
    assert (reader.state, reader.name) == ("confirmed", "Ada Whitlock")


def test_the_form_that_the_desk_shows_leads_from_another_site_to_ours_and_one_press_more(
    new_page: Callable[..., Page], site: WebSite, desk: Page
) -> None:
    desk.goto("/admin/newsletters/readers/")
    desk.get_by_role("link", name="A form for your own site").click()
    html = desk.get_by_label("To copy into your page").input_value()

    page = new_page(java_script_enabled=False)
    page.set_content(html)
    page.get_by_label("Email address").fill(ADA)
    page.get_by_label("Name").fill("Ada Whitlock")
    page.get_by_role("button").click()
    expect(page).to_have_url(f"{site.url}/subscriptions/embedded/")
    expect(page.get_by_label("Email address")).to_have_value(ADA)
    expect(page.get_by_label("Name")).to_have_value("Ada Whitlock")
    assert not Subscriber.objects.filter(email=ADA).exists()

    page.get_by_role("button", name="Subscribe").click()

    expect(page.get_by_role("heading", name="Look in your mailbox")).to_be_visible()
    assert ConsentRecord.objects.get().how == "embedded form"


def test_a_mistake_is_mended_where_it_stands(new_page: Callable[..., Page]) -> None:
    page = new_page()
    page.goto("/")
    page.get_by_label("Email address").fill("ada@posthouse")
    page.get_by_role("button", name="Subscribe").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Your text is still here")

    alert.get_by_role("link", name="Email address").click()
    expect(page.get_by_label("Email address")).to_be_focused()
    page.get_by_label("Email address").fill(ADA)
    page.get_by_role("button", name="Subscribe").click()

    expect(page.get_by_role("heading", name="Look in your mailbox")).to_be_visible()
