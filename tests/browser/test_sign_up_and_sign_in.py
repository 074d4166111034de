"""Signing up and signing in with a real browser."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from delivery.models import Newsletter
from postmark_sandbox.server import SandboxServer
from subscribers.models import ConsentRecord, ReaderFieldDefinition, Subscriber, Tag
from subscribers.signup.signup_form import sign_tags
from tests.browser.author_session import WRITE, accepted_by, come_to, sign_in
from tests.browser.pages.accessibility import faults_of
from tests.browser.web_site import WebSite
from tests.newsletter_site.sign_in.two_step.two_step_browser import code_now, time_goes_by

pytestmark = pytest.mark.django_db(transaction=True)

ADA = "ada@posthouse.example.org"


def test_signing_up_and_confirming_need_no_script(
    new_page: Callable[..., Page], site: WebSite, provider: SandboxServer
) -> None:
    ReaderFieldDefinition.objects.create(key="city", label="City", position=1, on_form=True)
    tag = Tag.objects.create(name="From the fair")
    page = new_page(java_script_enabled=False)
    page.goto(f"/subscriptions/?tags={sign_tags([tag.pk])}")
    page.get_by_label("Email address").fill(ADA)
    page.get_by_role("button", name="Subscribe").click()
    expect(page.get_by_role("heading", name="Check your inbox")).to_be_visible()

    site.deliver()
    [mail] = accepted_by(provider)
    assert mail.recipients == [ADA]
    once_more = "Press “Confirm”, then once more on the page that opens."
    assert all(once_more in mail.item[part] for part in ("TextBody", "HtmlBody"))
    [link] = re.findall(r"https?://\S+subscription_token=[\w-]+", mail.item["TextBody"])
    # Open the link in another browser, as on a phone, without the cookies of the first browser.
    phone = new_page(java_script_enabled=False)
    phone.goto(link)
    phone.get_by_label("Name").fill("Ada Whitlock")
    phone.get_by_label("City").fill("Graz")
    phone.get_by_role("button", name="Confirm subscription").click()

    expect(phone.get_by_role("heading", name="You are subscribed")).to_be_visible()
    reader = Subscriber.objects.get()
    assert (reader.state, reader.name) == ("confirmed", "Ada Whitlock")
    assert (reader.fields, reader.tags) == ({"city": "Graz"}, [tag.pk])


@contextmanager
def site_with(html: str) -> Iterator[str]:
    """Serve one page on another port of this machine, and return its origin."""

    class OnePage(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(f"<!doctype html><title>Ada</title>{html}".encode())

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), OnePage) as server:
        thread = threading.Thread(target=server.serve_forever, name="another site")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_pasted_form_signs_up_from_listed_sites_only(
    new_page: Callable[..., Page], author: Any
) -> None:
    Newsletter.objects.update_or_create(pk=1, defaults={"language": "de"})
    desk, visitor = new_page(author), new_page()
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"])
    desk.goto("/admin/newsletters/readers/form/")
    desk.get_by_role("button", name="Copy HTML").click()
    expect(desk.get_by_role("status").last).to_have_text("Copied.")
    with site_with(desk.evaluate("navigator.clipboard.readText()")) as origin:

        def send() -> None:
            visitor.goto(origin)
            expect(visitor.get_by_label("Leer lassen")).to_be_hidden()
            visitor.get_by_label("E-Mail-Adresse").fill(ADA)
            visitor.get_by_role("button", name="Abonnieren").click()

        send()
        expect(visitor.get_by_text("Drücken Sie den Knopf noch einmal.")).to_be_visible()
        assert not Subscriber.objects.exists()

        desk.get_by_role("link", name="Change the list").click()
        desk.get_by_label("Your own sites").fill(f"{origin}/blog/")
        desk.get_by_role("button", name="Save").click()
        expect(desk.get_by_text(origin)).to_be_visible()
        send()
        is_for_everybody(visitor, "Sehen Sie in Ihrem Postfach nach")
    assert Subscriber.objects.get().email == ADA
    assert ConsentRecord.objects.get().how == "embedded form"


PAGE = "/admin/second-factor/"


def fresh_code() -> str:
    """Return the app's current code, which the site then accepts even if it was used."""
    time_goes_by()
    return code_now()


def is_for_everybody(page: Page, heading: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    assert faults_of(page) == {}


def test_two_step_set_up_and_sign_in_are_accessible(
    new_page: Callable[..., Page], author: Any
) -> None:
    page = come_to(new_page(), PAGE)
    is_for_everybody(page, "Two-step sign-in")
    page.get_by_label("Your password").fill("a long password")
    page.get_by_role("button", name="Set up").click()
    expect(page.get_by_label("Code from the app")).to_be_visible()
    is_for_everybody(page, "Two-step sign-in")
    picture = page.get_by_alt_text("QR code of the secret below")
    assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
    page.get_by_label("Code from the app").fill(fresh_code())
    page.get_by_role("button", name="Turn on").click()
    is_for_everybody(page, "Your recovery codes")
    page.get_by_role("link", name="I have saved them").click()
    is_for_everybody(page, "Two-step sign-in")

    page.context.clear_cookies()
    page.goto(WRITE)
    sign_in(page)
    is_for_everybody(page, "Enter your code")
    page.get_by_label("Code from your authenticator app").fill(fresh_code())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**{WRITE}")


def test_the_wait_after_failed_sign_ins_is_accessible(
    new_page: Callable[..., Page], author: Any
) -> None:
    page = new_page()
    page.goto("/admin/login/")
    for number in range(5):
        sign_in(page, "nobody")
        if not number:
            expect(page.get_by_role("alert")).to_be_visible()
            no_account = "No account? Ask the person who runs this newsletter."
            expect(page.get_by_text(no_account)).to_be_visible()
            is_for_everybody(page, "Sign in")
    is_for_everybody(page, "Too many failed sign-ins")
