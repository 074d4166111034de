"""The profile: name, language of the desk, sessions, and leaving."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from newsletter_site.authors.open_sessions import LAST_USED, describe_browser, open_sessions
from newsletter_site.models import User
from publishing.models import Draft
from tests.newsletter_site.api_caller import Program
from tests.newsletter_site.authors.conftest import PASSWORD
from tests.publishing.author_browser import WindowOf

Make = Callable[..., User]
PROFILE = "/admin/profile/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def signed_in(name: str, user_agent: str = FIREFOX) -> Client:
    window = Client(headers={"user-agent": user_agent})
    window.post("/admin/login/", {"username": name, "password": PASSWORD}, secure=True)
    return window


def test_name_and_language_are_saved(ada: User) -> None:
    window = WindowOf(ada)
    assert "The browser’s language" in window.get(PROFILE).words
    window.post(PROFILE, name=" Ada  Whitlock ", language="de")
    ada.refresh_from_db()
    assert (ada.get_full_name(), ada.language) == ("Ada Whitlock", "de")
    # The choice wins over the browser's language, but not on readers' pages.
    assert 'lang="de"' in window.get(PROFILE).source
    assert 'lang="en"' in window.get("/archive/").source
    assert window.post(PROFILE, name="Ada", language="ar").status == 422
    window.post(PROFILE, name="Ada", language="")
    assert 'lang="en"' in window.get(PROFILE).source


def test_sessions_show_the_browser_and_end_on_request(ada: User, person: Make) -> None:
    person("ines", "Writers")
    here, there, hers = signed_in("ada"), signed_in("ada", "curl/8"), signed_in("ines")
    page = here.get(PROFILE, secure=True).content.decode()
    assert "Firefox · Linux" in page
    assert "Unknown browser" in page
    assert "127.0.0.1" not in page
    here.post(f"{PROFILE}sessions/", secure=True)
    answers = [one.get(PROFILE, secure=True).status_code for one in (here, there, hers)]
    assert answers == [200, 302, 200]
    assert "You are signed in nowhere else." in here.get(PROFILE, secure=True).content.decode()


def test_sessions_under_an_earlier_secret_key_end_too(ada: User, settings: LazySettings) -> None:
    there = signed_in("ada")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "x" * 60
    here = signed_in("ada")
    assert len(open_sessions(ada)) == 2
    here.post(f"{PROFILE}sessions/", secure=True)
    answers = [one.get(PROFILE, secure=True).status_code for one in (here, there)]
    assert answers == [200, 302]


def test_the_browsers_language_is_that_of_the_message_too(ada: User) -> None:
    User.objects.update(language="en")
    window = Client(headers={"accept-language": "de"})
    window.force_login(ada)
    window.post(PROFILE, {"name": "Ada\u200b", "language": ""}, secure=True)
    assert "Ihr Profil ist gespeichert." in window.get(PROFILE, secure=True).content.decode()
    window.post(PROFILE, {"name": "Ada\x07", "language": ""}, secure=True)
    window.post(PROFILE, {"name": "\u200b", "language": ""}, secure=True)
    ada.refresh_from_db()
    assert ada.first_name == ""


def test_sessions_under_an_old_password_are_not_listed(ada: User) -> None:
    signed_in("ada")
    assert len(open_sessions(ada)) == 1
    ada.set_password("another long one")
    ada.save()
    assert open_sessions(ada) == []


def test_noting_the_last_use_does_not_make_a_session_longer(ada: User) -> None:
    window = signed_in("ada")
    session = window.session
    long_ago = timezone.now() - timedelta(hours=2)
    session[LAST_USED] = long_ago.isoformat()
    session.save()
    ends = session.get_expiry_date()
    window.get(PROFILE, secure=True)
    [shown] = open_sessions(ada)
    assert shown.last_used is not None
    assert shown.last_used > long_ago + timedelta(hours=1)
    assert window.session.get_expiry_date() == ends


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (FIREFOX, "Firefox · Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge · Windows"),
        ("Mozilla/5.0 (Linux; Android 16) Chrome/140.0 Mobile Safari/537.36", "Chrome · Android"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0) Version/19 Safari/604.1", "Safari · iPhone"),
        ("curl/8", ""),
    ],
)
def test_a_browser_is_named(user_agent: str, name: str) -> None:
    assert describe_browser(user_agent) == name


def test_leaving_ends_sessions_and_tokens_and_keeps_drafts(ada: User, person: Make) -> None:
    ines, liv = person("ines", "Publishers"), person("liv", "Writers")
    draft = Draft.objects.create(title="Swifts", saved_by=ines, created_by=ines)
    window, elsewhere, program = WindowOf(ines), WindowOf(ines), Program(ines, "status")
    assert "Active API tokens 1" in window.get(f"{PROFILE}leave/").words
    wrong = window.post(f"{PROFILE}leave/", do="leave", password_or_code="not it")
    assert "Nothing was changed." in wrong.words

    gone = window.post(f"{PROFILE}leave/", do="leave", password_or_code=PASSWORD)
    assert "You have left" in gone.words
    ines.refresh_from_db()
    assert not ines.is_active
    assert ines.left_at is not None
    draft.refresh_from_db()
    assert draft.saved_by == ines
    # Enabling the account brings back neither sessions nor tokens.
    WindowOf(ada).post(f"/admin/authors/{ines.pk}/enable/")
    assert elsewhere.get(PROFILE).status == 302
    assert program.get("/issues/").status_code == 401
    ines.refresh_from_db()
    assert (ines.is_active, ines.left_at) == (True, None)
    codes = [json.loads(one.change_message)["code"] for one in LogEntry.objects.order_by("pk")]
    assert codes == ["make_token", "revoke_token", "leave", "enable_author"]

    window = WindowOf(ines)
    window.post(f"{PROFILE}leave/", do="hand-over", successor=str(liv.pk))
    draft.refresh_from_db()
    assert draft.saved_by == liv
    assert window.get(PROFILE).status == 200
