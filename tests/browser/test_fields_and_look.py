"""An author sets a field, a sender and a look, on a computer and a phone."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from postmark_sandbox.server import SandboxServer
from publishing.models import UploadedImage
from tests.browser.author_session import (
    WRITE,
    accepted_by,
    check,
    is_saved,
    publish_to,
    write,
)
from tests.browser.pages.accessibility import DESKTOP, NARROWEST
from tests.browser.web_site import WebSite
from tests.subscribers.factories import SubscriberFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]
SIZES = pytest.mark.parametrize("size", [DESKTOP, NARROWEST], ids=["computer", "phone"])
ADA, BRAM, HERSELF = (f"{name}@posthouse.example.org" for name in ("ada", "bram", "edith"))


def mails(provider: SandboxServer) -> dict[str, tuple[str, bool]]:
    """Return the subject of each mail, and whether both bodies of the mail name York."""
    return {
        message.recipients[0]: (
            str(message.item["Subject"]),
            all("News from York." in str(message.item[body]) for body in ("HtmlBody", "TextBody")),
        )
        for message in accepted_by(provider)
    }


@SIZES
def test_a_field_reaches_preview_readers_and_archive(
    new_page: Callable[..., Page], author: Any, site: WebSite, provider: SandboxServer, size: Any
) -> None:
    page = new_page(author, viewport=size)
    page.goto("/admin/newsletters/settings/")
    page.get_by_role("link", name="Add a field").click()
    page.get_by_label("Label").fill("Town")
    page.get_by_label("Fallback").fill("your town")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("cell", name="{{ town }}")).to_be_visible()
    SubscriberFactory(email=ADA, fields={"town": "York"})
    SubscriberFactory(email=BRAM)

    page.goto(WRITE)
    write(page, "News from {{ town }}.", title="From {{ town }}")
    is_saved(page)
    preview = page.frame_locator("[data-frames] iframe >> nth=0")
    expect(preview.locator("body")).to_contain_text("News from York.")
    page.get_by_role("button", name="Send a test…").click()
    page.get_by_label("To", exact=True).fill(HERSELF)
    page.get_by_role("dialog").get_by_role("button", name="Send a test").click()
    expect(page.get_by_role("link", name="View status")).to_be_visible()
    page.get_by_role("button", name="Back to the letter").click()
    check(page)
    expect(page.locator("main")).to_contain_text("of 2 readers")
    expect(page.locator("main")).to_contain_text("no Town")
    publish_to(page, 2)
    site.deliver()
    assert mails(provider) == {
        HERSELF: ("[Test] From your town", False),
        ADA: ("From York", True),
        BRAM: ("From your town", False),
    }
    page.goto("/archive/")
    page.get_by_role("link", name="From your town").first.click()
    expect(page.locator("body")).to_contain_text("News from your town.")


@SIZES
def test_first_steps_lead_to_a_sender(
    new_page: Callable[..., Page], author: Any, site: WebSite, provider: SandboxServer, size: Any
) -> None:
    page = new_page(author, viewport=size)
    page.goto("/admin/newsletters/issues/")
    page.get_by_role("link", name="Choose the sender").click()
    page.get_by_label("Sender’s name").fill("Ada Lee")
    page.get_by_label("Sender’s address").fill("ada@tides.org")
    page.get_by_label("Send the test letter to").fill(HERSELF)
    page.get_by_role("button", name="Send a test letter").click()
    expect(page.get_by_text("It waits for a worker")).to_be_visible()
    site.deliver()
    # The page updates without a reload.
    page.get_by_role("button", name="Use this sender").click()
    expect(page.get_by_text("Letters are sent from this address now.")).to_be_visible()
    assert [mail.item["From"] for mail in accepted_by(provider)] == ["Ada Lee <ada@tides.org>"]
    page.goto("/admin/newsletters/issues/")
    expect(page.get_by_role("listitem").filter(has_text="Choose the sender")).to_contain_text(
        "Done"
    )


def test_changed_look_is_previewed_and_reaches_the_front_page(desk: Page) -> None:
    desk.goto("/admin/newsletters/settings/look/")
    preview = desk.frame_locator("[data-frames] iframe >> nth=0")
    letter = preview.locator(".rule")
    expect(letter).to_have_css("border-bottom-color", "rgb(15, 90, 110)")

    desk.get_by_label("Choose the colour").fill("#7a1f5c")
    expect(desk.get_by_label("Accent colour")).to_have_value("#7a1f5c")
    expect(letter).to_have_css("border-bottom-color", "rgb(122, 31, 92)")
    desk.get_by_label("Public page").check()
    button = preview.get_by_role("button", name="Subscribe")
    expect(button).to_have_css("background-color", "rgb(122, 31, 92)")

    desk.get_by_label("Modern").check()
    desk.get_by_role("button", name="Save").click()
    expect(desk.get_by_text("Saved.")).to_be_visible()
    desk.goto("/")
    expect(desk.get_by_role("button", name="Subscribe")).to_have_css(
        "background-color", "rgb(122, 31, 92)"
    )
    expect(desk.get_by_role("heading", level=1)).to_have_css("font-weight", "700")


@SIZES
def test_chosen_logo_is_previewed_before_it_is_uploaded(
    new_page: Callable[..., Page], author: Any, size: Any, tmp_path: Path
) -> None:
    path = tmp_path / "logo.png"
    Image.new("RGB", (300, 60), "teal").save(path)
    page = new_page(author, viewport=size)
    page.goto("/admin/newsletters/settings/look/")
    preview = page.frame_locator("[data-frames] iframe >> nth=0")
    expect(preview.locator(".rule")).to_be_attached()

    page.get_by_label("Logo (optional)", exact=True).set_input_files(path)

    logo = preview.get_by_role("img", name="The Homing Letter")
    expect(logo).to_have_attribute("src", re.compile("^data:image/png;base64,"))
    expect(logo).to_have_js_property("naturalWidth", 300)
    expect(logo).to_have_css("width", "200px")
    assert not UploadedImage.objects.exists()
    # One press leads to the preview, which is beside the settings on a wide screen.
    link = page.get_by_role("link", name="Preview")
    if size is NARROWEST:
        link.click()
        page.get_by_role("radio", name="Dark").check()
        expect(page.locator("[data-paper]")).to_have_class("paper desktop dark")
        page.get_by_role("link", name="Back to the settings").click()
    else:
        expect(link).to_be_hidden()
        page.mouse.wheel(0, 600)
        expect(page.get_by_role("heading", name="Preview")).to_be_in_viewport()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert UploadedImage.objects.get().width == 300
