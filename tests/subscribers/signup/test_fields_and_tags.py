"""Sign-up forms with the author's own fields and with tags."""

import re
from html import unescape

import pytest
from django.core.signing import Signer

from delivery.models import Edition
from subscribers.models import ConsentRecord, ReaderFieldDefinition, Subscriber, Tag
from subscribers.signup.signup_form import sign_tags
from tests.publishing.author_browser import Page, WindowOf
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.importing.import_browser import someone
from tests.subscribers.signup_browser import ADA, get_current, link, press, sign_up, visitor

pytestmark = pytest.mark.django_db

FORM = "/admin/newsletters/readers/form/"


@pytest.fixture(autouse=True)
def _city() -> None:
    ReaderFieldDefinition.objects.create(key="city", label="Your <city>", position=1, on_form=True)
    ReaderFieldDefinition.objects.create(key="plan", label="Plan", position=2)


@pytest.fixture
def tags() -> list[int]:
    """Add two topics and a tag."""
    names = {"Birds": True, "Fish": True, "From the fair": False}
    return [Tag.objects.create(name=name, is_topic=topic).pk for name, topic in names.items()]


def test_posted_fields_wait_for_the_confirmation() -> None:
    for page in ("/", "/subscriptions/"):
        shown = visitor().get(page).text
        assert 'name="email"' in shown
        assert 'name="name"' not in shown
        assert "field-" not in shown
    sign_up(**{"field-city": "  Łódź\t& Co ", "field-plan": "gold"})
    assert ConsentRecord.objects.get().fields == {"city": "Łódź & Co"}
    # Before the confirmation, typed values are not stored with the reader and are not in a mail.
    assert get_current().fields == {}
    assert "Łódź" not in str(Edition.objects.values().get())
    press(get_current())
    assert get_current().fields == {"city": "Łódź & Co"}
    assert {record.fields["city"] for record in ConsentRecord.objects.all()} == {"Łódź & Co"}


def test_an_invalid_field_is_named_and_stores_nothing() -> None:
    page = sign_up(**{"field-city": "x" * 257})
    assert page.status_code == 422
    assert "“Your &lt;city&gt;” has 257 characters" in page.text
    assert 'for="field-city"' in page.text
    assert not Subscriber.objects.exists()


def test_the_page_to_confirm_asks_for_name_and_fields() -> None:
    sign_up(name="Ada", **{"field-city": "Graz"})
    address = link(get_current(), 1)
    asked = Page(visitor().get(address)).form_with("name").fields
    assert (asked["name"], asked["field-city"]) == ("Ada", "Graz")
    typed = {"name": " Ada  Lovelace", "field-city": "", "field-plan": "gold"}
    visitor().post(address, typed)
    visitor().post(address, {"name": "Somebody else"})  # a second press changes nothing
    reader, record = get_current(), ConsentRecord.objects.get(act="confirmed")
    assert (reader.name, reader.fields) == ("Ada Lovelace", {})
    assert (record.name, record.fields) == ("Ada Lovelace", {})


def test_a_refused_name_confirms_nobody_and_is_shown_again() -> None:
    sign_up()
    page = visitor().post(link(get_current(), 1), {"name": "Ada" * 100, "field-city": "Graz"})
    assert page.status_code == 422
    assert "“Name” has 300 characters" in page.text
    assert 'value="Graz"' in page.text
    assert get_current().state == "pending"


def test_the_page_after_confirming_offers_topics(tags: list[int]) -> None:
    birds, fish, _ = tags
    sign_up(name="Ada", tags=sign_tags([birds]))
    page = Page(press(get_current()))
    form = page.form_with("topic")
    assert "From the fair" not in page.words
    assert (form.fields["topic"], form.fields["shown"]) == (str(birds), str(fish))
    saved = visitor(strict=True).post(form.action, {"shown": [birds, fish], "topic": [fish]})
    assert "Your preferences are saved." in saved.text
    reader = get_current()
    assert (reader.name, reader.tags, reader.left_topics) == ("Ada", [fish], [birds])


def test_confirming_keeps_fields_that_were_left_empty() -> None:
    reader = SubscriberFactory(email=ADA, fields={"city": "Lyon", "plan": "gold"})
    sign_up(**{"field-city": ""})
    press(reader)
    assert get_current().fields == {"city": "Lyon", "plan": "gold"}
    sign_up(**{"field-city": "Graz"})
    assert get_current().fields["city"] == "Lyon"
    press(reader)
    assert get_current().fields == {"city": "Graz", "plan": "gold"}


def test_a_field_deleted_before_the_confirmation_is_dropped() -> None:
    sign_up(**{"field-city": "Graz"})
    ReaderFieldDefinition.objects.filter(key="city").delete()
    press(get_current())
    assert get_current().fields == {}


def test_a_form_on_another_site_has_fields_and_tags(tags: list[int]) -> None:
    birds, _, fair = tags
    desk = WindowOf(someone("edith", "manage_readers")).get(f"{FORM}?tag={fair}&tag={birds}&tag=x")
    html = unescape(re.findall(r"<textarea[^>]*>(.*?)</textarea>", desk.source, re.DOTALL)[1])
    (signed,) = re.findall(r'name="tags" value="([^"]*)"', html)
    assert "field-city" not in html
    typed = {"email": ADA, "field-city": "Graz", "tags": signed}

    ours = WindowOf(None).post("/subscriptions/embedded/", **typed).form_with("email")
    assert {name: ours.fields[name] for name in typed} == typed
    sign_up(**{**typed, "how": ours.fields["how"]})
    assert ConsentRecord.objects.get().how == "embedded form"
    assert get_current().tags == []
    press(get_current())
    assert get_current().tags == [birds, fair]


# Names of controls in our forms, in Django's or in other forms. An author may use these names as
# keys of fields.
OWN_WORDS = ["csrfmiddlewaretoken", "wording", "how", "shown", "tags", "reply", "email", "topic"]
OWN_WORDS += ["reader", "idempotency_key", "recipient", "joinh", "consent", "where", "seen"]


@pytest.mark.parametrize("word", OWN_WORDS)
def test_an_own_field_breaks_no_control_of_the_form(word: str) -> None:
    ReaderFieldDefinition.objects.create(key=word, label="Own", position=3, on_form=True)
    browser = visitor(strict=True)
    form = Page(browser.get("/subscriptions/")).form_with("email")
    assert form.fields["how"] == "form"
    typed = {"email": ADA, "name": "Ada", "field-city": "Graz", f"field-{word}": "mine"}
    again = Page(browser.post("/subscriptions/", {**form.fields, **typed, "email": "nobody"}))
    assert again.status == 422
    form = again.form_with("email")
    assert form.fields | {"email": ADA} == form.fields | typed
    assert browser.post("/subscriptions/", {**form.fields, "email": ADA}).status_code == 200
    record = ConsentRecord.objects.get()
    assert (record.how, record.name) == ("form", "Ada")
    assert record.fields == {"city": "Graz", word: "mine"}


def test_the_link_to_our_page_carries_the_tags(tags: list[int]) -> None:
    desk = WindowOf(someone("edith", "manage_readers")).get(f"{FORM}?tag={tags[0]}")
    link = re.findall(r"https://[^\s<]*/subscriptions/\?tags=[^\s<]*", desk.html)[0]
    form = WindowOf(None).get(link.partition("example.org")[2]).form_with("email")
    # The signed value of the tags is still in the form after an error.
    answer = sign_up("nobody", tags=form.fields["tags"])
    assert f'value="{form.fields["tags"]}"' in answer.text


@pytest.mark.parametrize("invented", ["{id}", "{id}:{other}", "", ":", "1-x"])
def test_visitors_cannot_invent_tags(tags: list[int], invented: str) -> None:
    other = Signer(salt="another").signature(str(tags[0]))
    answer = sign_up(tags=invented.format(id=tags[0], other=other))
    assert answer.status_code == 200
    press(get_current())
    assert get_current().tags == []


def test_confirming_leaves_left_topics_and_deleted_tags_off(tags: list[int]) -> None:
    birds, fish, fair = tags
    reader = SubscriberFactory(email=ADA, tags=[fair], left_topics=[fish])
    signed = sign_tags(tags)
    Tag.objects.filter(pk=fair).delete()
    sign_up(tags=sign_tags([*tags, 999]))
    press(reader)
    assert sign_tags(reversed(tags)) == signed
    after = get_current()
    assert (after.tags, after.left_topics) == ([birds, fair], [fish])
