"""The sign-up form for another site, which leads to our own page."""

import html
import re

import pytest
from django.conf import LazySettings
from django.http import HttpResponse

from subscribers.models import ConsentRecord, Subscriber
from subscribers.signup.signup_form import embed_form_html
from tests.publishing.author_browser import Form, Page, WindowOf
from tests.subscribers.importing.import_browser import someone

PAGE = "/admin/newsletters/readers/form/"
ADA = {"email": "ada@posthouse.example.org", "name": "Ada Whitlock"}


def form_shown_at_the_desk() -> Form:
    """Parse the form as a browser reads it on another page."""
    page = WindowOf(someone("edith", "manage_readers")).get(PAGE)
    copied = re.search(r"<textarea[^>]*>(.*?)</textarea>", page.html, re.DOTALL)
    assert copied is not None
    return Page(HttpResponse(html.unescape(copied[1]))).form_with("email")


@pytest.mark.django_db
def test_the_form_leads_to_our_page_with_its_values(settings: LazySettings) -> None:
    settings.SITE_URL = "https://letter.example.org"
    form = form_shown_at_the_desk()
    assert form.fields.keys() == ADA.keys()
    stranger = WindowOf(None)

    ours = stranger.post(form.action.removeprefix(settings.SITE_URL), **ADA)

    assert ours.status == 200
    assert not Subscriber.objects.exists()
    filled_in = ours.form_with("email")
    assert {name: filled_in.fields[name] for name in ADA} == ADA

    stranger.post(filled_in.action, **filled_in.fields)

    assert Subscriber.objects.get().state == "pending"
    assert ConsentRecord.objects.get().how == "embedded form"


def test_the_form_has_the_escaped_url_of_this_site() -> None:
    assert 'action="https://a.example/subscriptions/embedded/"' in embed_form_html(
        "https://a.example"
    )
    assert '"><script>' not in embed_form_html('https://a.example/"><script>')
