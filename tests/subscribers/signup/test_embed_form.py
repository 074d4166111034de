"""The form for other sites; on the author's own sites it needs only one press."""

import html
import re

import pytest
from django.conf import LazySettings
from django.http import HttpResponse

from delivery.models import Newsletter
from subscribers.consent.consent_wording import sign_wording
from subscribers.models import ConsentRecord, Subscriber
from subscribers.signup.signup_form import embed_form_html
from tests.publishing.author_browser import Form, Page, WindowOf
from tests.subscribers.importing.import_browser import someone
from tests.subscribers.signup_browser import visitor

pytestmark = pytest.mark.django_db

PAGE = "/admin/newsletters/readers/form/"
EMBEDDED = "/subscriptions/embedded/"
SITE = "https://ada.example"
ADA = {"email": "ada@posthouse.example.org", "name": "Ada Whitlock"}


@pytest.fixture
def newsletter() -> Newsletter:
    """Return a newsletter whose author has two other sites."""
    own = {"name": "Tides & Co", "own_sites": f"https://other.example\n{SITE}"}
    return Newsletter.objects.update_or_create(pk=1, defaults=own)[0]


def pasted_html() -> str:
    """Return the HTML that the desk shows."""
    page = WindowOf(someone("edith", "manage_readers")).get(PAGE)
    return html.unescape(re.findall(r"<textarea[^>]*>(.*?)</textarea>", page.source, re.S)[1])


def pasted_form(pasted: str = "") -> Form:
    """Parse the form as a browser reads it on another page."""
    return Page(HttpResponse(pasted or pasted_html())).form_with("email")


def post(fields: dict[str, str], origin: str = SITE) -> Page:
    headers = {"Origin": origin} if origin else {}
    return Page(visitor(strict=True).post(EMBEDDED, {**fields, **ADA}, headers=headers))


def test_one_press_on_an_own_site_signs_up(newsletter: Newsletter) -> None:
    answer = post(pasted_form().fields | {"how": "operator"})

    assert "Check your inbox" in answer.words
    assert Subscriber.objects.get().state == "pending"
    assert ConsentRecord.objects.get().how == "embedded form"


def test_own_sites_keep_the_trap_and_the_limit(
    newsletter: Newsletter, settings: LazySettings
) -> None:
    settings.SIGN_UPS_PER_HOUR = 1
    fields = pasted_form().fields
    trapped = post(fields | {"reply": "https://spam.example"})
    assert not Subscriber.objects.exists()

    assert post(fields).words == trapped.words
    too_many = post(fields)
    assert too_many.status == 429
    # The form on our own page still names the source of the sign-up.
    assert too_many.form_with("email").fields["how"] == "embedded form"


@pytest.mark.parametrize(
    "origin",
    ["", "null", "https://evil.example", "http://ada.example", f"{SITE}:8443", f"{SITE}.evil.com"],
)
def test_other_sites_need_the_second_press(newsletter: Newsletter, origin: str) -> None:
    answer = post(pasted_form().fields, origin)

    assert "Press the button once more" in answer.words
    assert not Subscriber.objects.exists()


def test_the_wording_shown_is_stored_also_after_a_rename(newsletter: Newsletter) -> None:
    Newsletter.objects.update(language="fr")
    pasted = pasted_html()
    shown = [html.unescape(text) for text in re.findall(r"<(?:p|button)>(.*?)</", pasted)]
    fields = pasted_form(pasted).fields
    Newsletter.objects.update(name="Renamed", language="de")

    assert "Sehen Sie in Ihrem Postfach nach" in post(fields).words

    name, button, words = shown
    assert (name, button) == ("Tides & Co", "S’abonner")
    wording = ConsentRecord.objects.get().wording
    assert wording is not None
    assert wording.text == f"{name}\n{words}\n[{button}]"


@pytest.mark.parametrize("wording", ["", "x", "a:b", sign_wording("I agree.") + "x"])
def test_a_form_without_our_wording_needs_the_second_press(
    newsletter: Newsletter, wording: str
) -> None:
    """Forms that earlier versions of Homing made have no wording."""
    assert "Press the button once more" in post({"wording": wording}).words
    assert not Subscriber.objects.exists()


def test_the_form_is_in_the_newsletters_language(newsletter: Newsletter) -> None:
    Newsletter.objects.update(language="he", name="<גאות>")

    pasted = pasted_html()

    assert pasted.startswith("<form ")
    assert 'method="post" lang="he" dir="rtl">' in pasted
    assert "<p>&lt;גאות&gt;</p>" in pasted
    assert "Subscribe" not in pasted
    trap = re.search(r'<div hidden>.*name="reply" autocomplete="off" tabindex="-1"', pasted, re.S)
    assert trap is not None


def test_the_form_has_the_escaped_url_of_this_site() -> None:
    assert f'action="https://a.example{EMBEDDED}"' in embed_form_html("https://a.example", "A")
    assert '"><script>' not in embed_form_html('https://a.example/"><script>', "A")


@pytest.mark.parametrize("may_change", [True, False])
def test_the_desk_names_own_sites_and_their_setting(
    newsletter: Newsletter, may_change: bool
) -> None:
    more = ("change_newsletter",) if may_change else ()
    page = WindowOf(someone("edith", "manage_readers", *more)).get(PAGE)

    assert f"Your own sites are https://other.example, {SITE}." in page.words
    assert ("settings/newsletter/#own_sites" in page.html) is may_change
