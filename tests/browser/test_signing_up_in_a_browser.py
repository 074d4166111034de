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
    """Deliver, and find the link in the newest mail to Ada."""
    site.deliver()
    outbox = provider.sandbox.outbox
    mail = next(
        message
        for number in range(outbox.parcels_newest_first()[0].first, -1, -1)
        if ADA in (message := outbox.message(number)).recipients
    )
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


def test_a_form_on_another_site_leads_to_ours_and_one_press_more(
    new_page: Callable[..., Page], site: WebSite
) -> None:
    page = new_page()
    page.set_content(
        f"""<form action="{site.url}/subscriptions/embedded/" method="post">
        <label>Email <input type="email" name="email"></label><button>Subscribe</button></form>"""
    )
    page.get_by_label("Email").fill(ADA)
    page.get_by_role("button").click()
    expect(page.get_by_label("Email address")).to_have_value(ADA)
    assert not Subscriber.objects.exists()

    page.get_by_role("button", name="Subscribe").click()

    expect(page.get_by_role("heading", name="Look in your mailbox")).to_be_visible()
    assert ConsentRecord.objects.get().how == "embedded form"


def test_a_mistake_is_mended_where_it_stands(new_page: Callable[..., Page], site: WebSite) -> None:
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
