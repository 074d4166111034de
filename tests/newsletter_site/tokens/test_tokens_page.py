"""The page of API tokens: created once, shown once, revoked by their owners."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from newsletter_site.models import ApiToken
from newsletter_site.tokens.api_tokens import create_token
from newsletter_site.tokens.authenticate import is_well_formed
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import WindowOf

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/newsletters/tokens/"
PASSWORD = "swifts over the hedge"


@pytest.fixture
def edith(transactional_db: None) -> Any:
    """Create Edith, who may publish."""
    person = get_user_model().objects.create_user("edith", password=PASSWORD, is_staff=True)
    person.user_permissions.add(Permission.objects.get(codename="publish_edition"))
    return person


@pytest.fixture
def window(edith: Any) -> WindowOf:
    return WindowOf(edith)


def form_on(page: Any) -> str:
    found = re.search(r'name="form" value="([0-9a-f-]{36})"', page.html)
    assert found is not None
    return found[1]


def asked(page: Any, **facts: Any) -> dict[str, Any]:
    form = {"form": form_on(page), "name": "the press", "scope": "status", "days": "30"}
    return {**form, "password_or_code": PASSWORD, **facts}


def token_on(page: Any) -> str:
    found = re.search(r"homing_[A-Za-z0-9_-]{50,}", page.html)
    return found[0] if found else ""


def test_a_new_token_is_shown_once(window: WindowOf) -> None:
    form = asked(window.get(PAGE))
    page = window.post(PAGE, **form)
    assert page.status == 200
    assert is_well_formed(token_on(page))
    assert page.answer.headers["Cache-Control"] == "no-store"
    row = ApiToken.objects.get()
    assert row.scopes == ["status"]
    assert row.expires_at is not None
    again = window.post(PAGE, **form)
    assert ApiToken.objects.count() == 1
    assert token_on(again) == ""
    assert "was already sent" in again.words
    later = window.get(PAGE)
    assert token_on(later) == ""
    assert "the press" in later.words


def test_only_permitted_scopes_are_offered(window: WindowOf) -> None:
    page = window.get(PAGE)
    assert 'value="publish"' in page.html
    assert 'value="readers"' not in page.html


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"name": " "}, "The name is empty"),
        ({"scope": ""}, "is not a scope"),
        ({"days": "7"}, "Choose when the token expires"),
        ({"form": "x"}, "The form was incomplete"),
        ({"password_or_code": "not it"}, "This is not your password."),
        ({"scope": "readers"}, "edith lacks the permission for “readers”"),
    ],
)
def test_errors_are_shown_and_the_form_keeps_its_values(
    window: WindowOf, facts: dict[str, str], message: str
) -> None:
    page = window.post(PAGE, **asked(window.get(PAGE), **facts))
    assert message in page.words
    assert not ApiToken.objects.exists()


def test_wrong_passwords_for_tokens_count_as_failed_sign_ins(
    window: WindowOf, settings: LazySettings
) -> None:
    settings.AXES_FAILURE_LIMIT = 5
    settings.AXES_COOLOFF_TIME = timedelta(seconds=600)
    form = asked(window.get(PAGE))
    answers = [window.post(PAGE, **{**form, "password_or_code": "wrong"}).status for _ in range(6)]
    assert answers == [200] * 4 + [429] * 2
    assert window.post(PAGE, **form).status == 429
    assert not ApiToken.objects.exists()


def test_owners_can_revoke_their_tokens(window: WindowOf, edith: Any) -> None:
    program = Program(edith)
    address = f"{PAGE}{program.row.pk}/revoke/"
    assert "You can’t undo this" in window.get(address).words
    assert program.get("/issues/").status_code == 200
    assert window.post(address).status == 303
    assert program.get("/issues/").status_code == 401
    assert window.post(address).status == 303


def test_only_superusers_see_and_revoke_tokens_of_others(edith: Any) -> None:
    made = create_token(edith, "the press", ["status"])
    address = f"{PAGE}{made.row.pk}/revoke/"
    basil = WindowOf(get_user_model().objects.create_user("basil", is_staff=True))
    assert "the press" not in basil.get(PAGE).words
    assert basil.get(address).status == 404
    assert basil.post(address).status == 404
    # Users who have lost staff status cannot even use their own tokens.
    edith.is_staff = False
    edith.save()
    window = WindowOf(edith)
    assert [window.get(PAGE).status, window.post(address).status] == [302, 302]
    made.row.refresh_from_db()
    assert made.row.revoked_at is None
    root = WindowOf(get_user_model().objects.create_superuser("root"))
    assert "the press" in root.get(PAGE).words
    assert root.post(address).status == 303
