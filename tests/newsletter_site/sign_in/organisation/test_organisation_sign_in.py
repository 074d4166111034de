"""The organisation's account signs an author in, by OpenID Connect."""

import logging
import threading
import time
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core import signing
from django.db import IntegrityError
from joserfc.jwk import OctKey, RSAKey

from newsletter_site.models import OrganisationAccount
from newsletter_site.sign_in import two_step_devices
from newsletter_site.sign_in.organisation.organisation_accounts import NoAuthor, find_author
from publishing.activity.activity_sentences import plain_sentence_of
from tests.newsletter_site.sign_in.organisation.openid_provider import OpenidProvider
from tests.newsletter_site.sign_in.two_step.two_step_browser import (
    DESK,
    LOGIN,
    Browser,
    code_now,
)
from tests.publishing.second_connection import at_once

START = "/admin/login/organisation/"
BACK = f"{START}back/"
PASSKEYS = "/admin/passkeys/"


def signed_in_by(provider: OpenidProvider, window: Browser, **claims: Any) -> Any:
    """Go to the provider and come back."""
    return window.at(provider.sign_in(window.at(START)["Location"], **claims))


def test_the_account_is_linked_by_address_and_then_by_subject(provider: OpenidProvider) -> None:
    assert "Sign in with The Post House" in Browser().at(LOGIN).content.decode()
    window = Browser()
    back = provider.sign_in(window.at(f"{START}?next={DESK}")["Location"])
    assert provider.asked["scope"] == "openid email"
    assert window.at(back)["Location"] == DESK
    assert window.is_signed_in
    assert [plain_sentence_of(entry) for entry in LogEntry.objects.order_by("pk")] == [
        f"edith linked edith to an account at {provider.url}.",
        (
            "edith signed in from the network 127.0.0.0/24, with a browser that was not used "
            "before. The organisation’s account was used."
        ),
    ]
    again = Browser()
    moved = {"email": "edith@elsewhere.example", "email_verified": False}
    assert signed_in_by(provider, again, **moved)["Location"] == "/admin/start/"
    assert again.is_signed_in
    assert OrganisationAccount.objects.count() == 1
    # A new account with the address of somebody who has an account is another person.
    stranger = Browser()
    assert signed_in_by(provider, stranger, sub="somebody else").status_code == 403
    assert not stranger.is_signed_in


NOW = int(time.time())
BAD_TOKENS = {
    "wrong nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "wrong audience": {"aud": "another site", "azp": "homing"},
    "wrong issuer": {"iss": "https://evil.example"},
    "expired": {"exp": NOW - 61},
    "no end": {"exp": None},
    "from the future": {"iat": NOW + 86_400},
    "no subject": {"sub": None},
}


@pytest.mark.parametrize("claims", BAD_TOKENS.values(), ids=BAD_TOKENS)
def test_a_wrong_token_signs_nobody_in(provider: OpenidProvider, claims: dict[str, Any]) -> None:
    window = Browser()
    page = signed_in_by(provider, window, **claims)
    assert page.status_code == 502
    assert "The Post House did not answer as it should." in page.content.decode()
    assert not window.is_signed_in
    assert not OrganisationAccount.objects.exists()


def test_clocks_may_differ_by_a_minute(provider: OpenidProvider) -> None:
    late = {"exp": int(time.time()) - 30, "iat": int(time.time()) + 30}
    assert signed_in_by(provider, Browser(), **late).status_code == 302


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (RSAKey.generate_key(2048, {"kid": "1"}), "RS256"),
        (OctKey.import_key("the client's secret"), "HS256"),
    ],
)
def test_only_the_issuers_key_signs(provider: OpenidProvider, key: Any, algorithm: str) -> None:
    provider.key, provider.algorithm = key, algorithm
    provider.metadata = {"id_token_signing_alg_values_supported": ["RS256", "HS256", "none"]}
    window = Browser()
    assert signed_in_by(provider, window).status_code == 502
    assert not window.is_signed_in


def test_another_browser_or_another_visit_is_refused(provider: OpenidProvider) -> None:
    window, stranger = Browser(), Browser()
    back = provider.sign_in(window.at(START)["Location"])
    stranger.at(START)
    page = stranger.at(back)
    assert page.status_code == 400
    assert "began in another browser" in page.content.decode()
    assert Browser().at(back).status_code == 400
    assert window.at(back).status_code == 302
    window.logout()
    assert window.at(back).status_code == 400


def test_a_visit_of_more_than_ten_minutes_is_refused(provider: OpenidProvider) -> None:
    class SlowSigner(signing.TimestampSigner):
        def timestamp(self) -> str:
            return signing.b62_encode(int(time.time()) - 601)

    window = Browser()
    back = provider.sign_in(window.at(START)["Location"])
    session, key = window.session, "organisation.go-to"
    session[key] = SlowSigner(salt=key).sign_object("/admin/")
    session.save()
    assert window.at(back).status_code == 400
    assert not window.is_signed_in


def test_a_cancelled_sign_in_has_a_page(provider: OpenidProvider) -> None:
    window = Browser()
    window.at(START)
    page = window.at(f"{BACK}?error=access_denied&error_description=<b>no</b>&state=x")
    assert page.status_code == 403
    assert "The Post House did not sign you in, or you cancelled." in page.content.decode()


UNKNOWN = "no account that may sign in here belongs to you."


def test_nobody_gets_an_account_by_signing_in(provider: OpenidProvider) -> None:
    page = signed_in_by(provider, Browser(), sub="2", email="ines@example.org")
    assert page.status_code == 403
    assert UNKNOWN in page.content.decode()
    assert get_user_model().objects.count() == 1


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_staff": False}])
def test_disabled_authors_are_unknown(provider: OpenidProvider, change: dict[str, bool]) -> None:
    get_user_model().objects.update(**change)
    assert UNKNOWN in signed_in_by(provider, Browser()).content.decode()
    # The same is true for an account that is linked already.
    get_user_model().objects.update(is_active=True, is_staff=True)
    assert signed_in_by(provider, Browser()).status_code == 302
    get_user_model().objects.update(**change)
    assert UNKNOWN in signed_in_by(provider, Browser()).content.decode()


@pytest.mark.parametrize("verified", [False, None, "true"])
def test_an_address_must_be_verified(provider: OpenidProvider, verified: Any) -> None:
    page = signed_in_by(provider, Browser(), email_verified=verified)
    assert "The Post House did not confirm your email address" in page.content.decode()
    assert not OrganisationAccount.objects.exists()


def test_an_address_of_two_authors_links_nobody(provider: OpenidProvider) -> None:
    get_user_model().objects.create_user("twin", "EDITH@EXAMPLE.ORG", is_staff=True)
    page = signed_in_by(provider, Browser())
    assert "Several accounts here have your email address." in page.content.decode()
    assert not OrganisationAccount.objects.exists()


def test_two_first_sign_ins_at_once_link_one_account(author: Any) -> None:
    given = ("https://id.example.org", "edith-1", author.email)
    assert at_once(lambda: find_author(*given), lambda: find_author(*given)) == [author, author]
    ines = get_user_model().objects.create_user("ines")
    for user, subject in ((ines, "edith-1"), (author, "another")):
        with pytest.raises(IntegrityError):
            OrganisationAccount.objects.create(user=user, issuer=given[0], subject=subject)


def test_the_address_may_be_in_the_user_info(provider: OpenidProvider) -> None:
    no_address = {"email": None, "email_verified": None}
    provider.user_info = {"sub": "other", "email": "edith@example.org", "email_verified": True}
    assert signed_in_by(provider, Browser(), **no_address).status_code == 403
    provider.user_info["sub"] = "edith-1"
    assert signed_in_by(provider, Browser(), **no_address).status_code == 302


def test_the_secret_can_be_posted(provider: OpenidProvider) -> None:
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert signed_in_by(provider, Browser()).status_code == 302


ANSWERS = {
    "an error": (500, b"oops"),
    "no JSON": (200, b"<html>"),
    "no object": (200, b"[]"),
    "too large": (200, b'{"x": "' + b"x" * 1_000_000 + b'"}'),
    "a redirect": (302, b"http://127.0.0.1:1/"),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_bad_answer_of_the_issuer_has_a_page(
    provider: OpenidProvider, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    window = Browser()
    back = provider.sign_in(window.at(START)["Location"])
    provider.answer = lambda: answer
    with caplog.at_level(logging.ERROR):
        for address in (START, back):
            page = window.at(address)
            assert page.status_code == 502
            assert "sign in another way" in page.content.decode()
    assert "the OpenID Connect issuer cannot be used" in caplog.text
    assert not window.is_signed_in


def test_an_issuer_with_another_name_is_refused(provider: OpenidProvider) -> None:
    provider.metadata = {"issuer": "https://evil.example"}
    assert Browser().at(START).status_code == 502
    # A slash at the end makes no other name.
    provider.metadata = {"issuer": f"{provider.url}/"}
    back = provider.sign_in(Browser().at(START)["Location"], iss=f"{provider.url}/")
    assert back.startswith("https://")


def test_a_slow_issuer_is_not_waited_for(
    provider: OpenidProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    from newsletter_site.sign_in.organisation import openid_issuer

    is_over = threading.Event()
    provider.answer = lambda: (200 if is_over.wait(30) else 500, b"{}")
    monkeypatch.setattr(openid_issuer, "DEADLINE_S", 0.1)
    assert Browser().at(START).status_code == 502
    is_over.set()


def test_an_issuer_that_is_down_has_a_page(settings: LazySettings) -> None:
    settings.OIDC_ISSUER = "http://127.0.0.1:1"
    assert Browser().at(START).status_code == 502


def test_every_address_of_an_https_issuer_has_https(
    provider: OpenidProvider, settings: LazySettings
) -> None:
    from newsletter_site.sign_in.organisation import openid_issuer

    settings.OIDC_ISSUER = "https://id.example.org"
    session = openid_issuer._Session()
    with pytest.raises(openid_issuer.IssuerError, match="without https"):
        session.request("GET", provider.url, withhold_token=True)


def test_the_account_is_one_step_unless_set_otherwise(
    provider: OpenidProvider, author: Any, settings: LazySettings
) -> None:
    number = two_step_devices.start_setup(author)
    two_step_devices.finish_setup(author, number, code_now())
    window = Browser()
    page = window.at(signed_in_by(provider, window)["Location"])
    assert "Enter your code" in page.content.decode()
    assert not window.is_signed_in
    settings.OIDC_IS_TWO_STEP = settings.REQUIRE_SECOND_FACTOR = True
    assert signed_in_by(provider, window)["Location"] == "/admin/start/"
    assert window.is_signed_in


def test_a_password_alone_is_no_way_around_the_issuer(
    provider: OpenidProvider, author: Any, settings: LazySettings
) -> None:
    author.set_password("a long password")
    author.save()
    settings.OIDC_IS_TWO_STEP = settings.REQUIRE_SECOND_FACTOR = True
    window = Browser()
    signed_in_by(provider, window)
    stranger = Browser()
    page = stranger.at(stranger.sign_in()["Location"]).content.decode()
    assert "This site needs two steps. Sign in with The Post House." in page
    assert stranger.at("/admin/second-factor/").status_code == 302
    # Without the link, the session needs another second step.
    window.send(PASSKEYS, do="unlink", password_or_code="a long password")
    assert window.at(DESK)["Location"] == "/admin/second-factor/"


@pytest.mark.parametrize("address", ["ed\u0131th@example.org", "edith@example.\u212arg"])
def test_other_letters_are_no_other_case(
    provider: OpenidProvider, author: Any, address: str
) -> None:
    if "\u212a" in address:
        author.email = "edith@example.krg"
        author.save()
    assert find_author(provider.url, "evil", address) == NoAuthor.UNKNOWN
    assert find_author(provider.url, "edith", author.email.upper()) == author


def test_one_step_is_not_enough_where_two_are_required(
    provider: OpenidProvider, settings: LazySettings
) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    window = Browser()
    signed_in_by(provider, window)
    assert window.at(DESK)["Location"] == "/admin/second-factor/"


def test_the_link_is_removed_unless_it_is_the_last_method(
    provider: OpenidProvider, author: Any
) -> None:
    window = Browser()
    signed_in_by(provider, window)
    assert "Your account at The Post House was linked on" in window.at(PASSKEYS).content.decode()
    page = window.send(PASSKEYS, do="unlink").content.decode()
    assert "you could no longer sign in" in page
    author.set_password("a long password")
    author.save()
    window.sign_in()
    page = window.post(
        PASSKEYS, {"do": "unlink", "password_or_code": "a long password"}, secure=True, follow=True
    )
    assert "Your organisation’s account is no longer linked." in page.content.decode()
    assert not OrganisationAccount.objects.exists()


def test_without_an_issuer_there_is_no_button_and_no_page(settings: LazySettings) -> None:
    settings.OIDC_ISSUER = settings.OIDC_NAME = ""
    assert START not in Browser().at(LOGIN).content.decode()
    assert Browser().at(START).status_code == Browser().at(BACK).status_code == 404
