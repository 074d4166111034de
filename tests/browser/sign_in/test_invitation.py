"""An invitation with a real browser: from the mail to the new author's profile."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from playwright.sync_api import Page, expect

from postmark_sandbox.server import SandboxServer
from tests.browser.author_session import accepted_by, come_to
from tests.browser.web_site import WebSite

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("author")
def test_an_invited_author_signs_in_without_scripts(
    new_page: Callable[..., Page], site: WebSite, provider: SandboxServer
) -> None:
    Group.objects.get_or_create(name="Publishers")
    page = come_to(new_page(java_script_enabled=False), "/admin/authors/")
    page.get_by_label("Email address").fill("gus@posthouse.example.org")
    page.get_by_label("Name").fill("Gus Falk")
    page.get_by_role("radio", name="Publisher").check()
    page.get_by_role("button", name="Send invitation").click()
    expect(page.get_by_role("status")).to_contain_text("Gus Falk is invited.")

    site.deliver()
    [mail] = accepted_by(provider)
    assert mail.recipients == ["gus@posthouse.example.org"]
    [link] = set(re.findall(r"https?://\S+/admin/join/[\w-]+/", mail.item["TextBody"]))
    phone = new_page(java_script_enabled=False)
    phone.goto(link)
    for label in ("Password", "Password again"):
        phone.get_by_label(label, exact=True).fill("swifts over the hedge")
    phone.get_by_role("button", name="Accept and sign in").click()

    expect(phone.get_by_role("heading", level=1)).to_have_text("Your profile")
    gus = get_user_model().objects.get(username="gus")
    assert [group.name for group in gus.groups.all()] == ["Publishers"]
