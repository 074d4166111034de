"""A test letter from the plain form, in a browser: the words stay, and nothing is published."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from delivery.models import Edition, Newsletter
from tests.browser.for_everybody import NARROWEST, faults_found_by_axe, scrolls_sideways

pytestmark = pytest.mark.django_db(transaction=True)

TITLE = "Swifts leave without saying goodbye"


def shot(page, name):
    """Keep a picture where somebody asked for them."""
    folder = os.environ.get("HOMING_SHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def is_for_everybody(page, name):
    shot(page, name)
    assert faults_found_by_axe(page) == []
    page.set_viewport_size(NARROWEST)
    assert not scrolls_sideways(page)
    shot(page, f"{name}-narrow")


def test_a_test_opens_a_window_that_tells_how_it_stands_and_the_words_stay(desk, site, provider):
    desk.get_by_label("Title and subject").fill(TITLE)
    desk.get_by_label("Plain text").fill("They have gone.")
    field = desk.get_by_label("Send a test to")
    field.fill("willa@elsewhere.example")
    # Enter presses nothing: the nearest button would publish.
    field.press("Enter")
    desk.get_by_label("Title and subject").press("Enter")
    assert not Edition.objects.exists()

    with desk.expect_popup() as opened:
        desk.get_by_role("button", name="Send a test").click()
    window = opened.value
    expect(window.get_by_role("heading", level=1)).to_have_text("Test letter")
    expect(window.get_by_role("status")).to_contain_text("Waiting for a worker")
    shot(window, "test-waiting")
    site.deliver()
    expect(window.get_by_role("status")).to_contain_text("Postmark accepted it at")
    is_for_everybody(window, "test-accepted")
    window.get_by_role("link", name="Read it in the sandbox’s inbox").click()
    expect(window.get_by_role("heading", name=f"[Test] {TITLE}")).to_be_visible()

    assert Edition.objects.get().kind == "test"
    assert desk.get_by_label("Title and subject").input_value() == TITLE
    shot(desk, "plain-form")
    desk.get_by_role("button", name="Publish").click()
    expect(desk.get_by_text("has been accepted")).to_be_visible()
    assert Edition.objects.filter(kind="newsletter").count() == 1


def test_what_is_wrong_with_a_test_is_said_with_the_words_on_the_page(desk):
    Newsletter.objects.update(second_person=True)
    desk.get_by_label("Title and subject").fill(TITLE)
    desk.get_by_label("Send a test to").fill("willa")
    with desk.expect_popup() as opened:
        desk.get_by_role("button", name="Send a test").click()
    window = opened.value
    expect(window.get_by_role("heading", level=1)).to_have_text("The test letter was not sent")
    is_for_everybody(window, "test-refused")
    shot(desk, "plain-form-takes-two")
