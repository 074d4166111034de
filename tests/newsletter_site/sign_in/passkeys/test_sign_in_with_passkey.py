"""A passkey signs in only its own author, who needs no password and no code."""

import time
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.core import signing
from hypothesis import given
from hypothesis import strategies as st

from newsletter_site.models import Passkey
from newsletter_site.sign_in.passkeys import webauthn
from publishing.activity.activity_sentences import plain_sentence_of
from tests.newsletter_site.sign_in.passkeys.passkey_browser import SIGN_IN, PasskeyBrowser
from tests.newsletter_site.sign_in.passkeys.software_passkey import PRESENT, SoftwarePasskey
from tests.newsletter_site.sign_in.two_step.two_step_browser import DESK, LOGIN, Browser
from tests.publishing.second_connection import at_once

REFUSED = "The passkey was not accepted."


def test_a_passkey_signs_in_and_redirects_to_next(passkey: SoftwarePasskey) -> None:
    window = PasskeyBrowser()
    answer = window.sign_in_with(passkey, next=DESK)
    assert answer["Location"] == DESK
    assert window.is_signed_in
    assert Passkey.objects.get().last_used_at
    assert window.session.get_expiry_age() > 3600
    assert plain_sentence_of(LogEntry.objects.order_by("pk").last()) == (
        "edith signed in from the network 127.0.0.0/24, with a browser that was not used before. "
        "A passkey was used."
    )


def other_site(passkey: SoftwarePasskey) -> None:
    passkey.origin = "https://letter.example.org.evil.example"


def other_rp(passkey: SoftwarePasskey) -> None:
    passkey.rp_id = "evil.example"


def not_verified(passkey: SoftwarePasskey) -> None:
    passkey.flags = PRESENT


def wrong_key(passkey: SoftwarePasskey) -> None:
    passkey.key = SoftwarePasskey().key


def wrong_author(passkey: SoftwarePasskey) -> None:
    passkey.user_handle = bytes(16)


def unknown(passkey: SoftwarePasskey) -> None:
    passkey.credential_id = bytes(32)


def copied(passkey: SoftwarePasskey) -> None:
    Passkey.objects.update(sign_count=7)
    passkey.count = 7


def disabled(passkey: SoftwarePasskey) -> None:
    get_user_model().objects.update(is_active=False)


def without_staff_status(passkey: SoftwarePasskey) -> None:
    get_user_model().objects.update(is_staff=False)


BAD = [other_site, other_rp, not_verified, wrong_key, wrong_author, unknown]
BAD += [copied, disabled, without_staff_status]


def test_every_refusal_shows_the_same_page(
    passkey: SoftwarePasskey, settings: LazySettings
) -> None:
    settings.AXES_FAILURE_LIMIT = 100
    pages = set()
    for make_bad in BAD:
        one, window = SoftwarePasskey(), PasskeyBrowser()
        one.__dict__ |= passkey.__dict__
        users = dict(get_user_model().objects.values("is_active", "is_staff").get())
        make_bad(one)
        answer = window.sign_in_with(one)
        page = window.at(answer["Location"]).content.decode()
        assert REFUSED in page, make_bad
        assert not window.is_signed_in, make_bad
        get_user_model().objects.update(**users)
        Passkey.objects.update(sign_count=0)
        pages.add(page.partition("csrfmiddlewaretoken")[0])
    assert len(pages) == 1
    assert PasskeyBrowser().sign_in_with(passkey)["Location"] == "/admin/start/"


def test_a_count_that_grows_is_stored(passkey: SoftwarePasskey) -> None:
    passkey.count = 5
    assert PasskeyBrowser().sign_in_with(passkey)["Location"] == "/admin/start/"
    assert Passkey.objects.get().sign_count == 5
    assert "login" in PasskeyBrowser().sign_in_with(passkey)["Location"]


def test_a_challenge_works_once(passkey: SoftwarePasskey) -> None:
    window = PasskeyBrowser()
    signed = passkey.sign(window.options())
    replay = window.session_alone()
    answers = at_once(*(lambda w=w: w.send(SIGN_IN, credential=signed) for w in (window, replay)))
    # The other window is refused, or it finds that its session has ended meanwhile.
    assert [one.get("Location") for one in answers].count("/admin/start/") == 1
    assert window.send(SIGN_IN, credential=signed)["Location"].startswith(LOGIN)


def test_a_challenge_of_another_session_or_of_none_is_refused(passkey: SoftwarePasskey) -> None:
    signed = passkey.sign(PasskeyBrowser().options())
    stranger = PasskeyBrowser()
    assert stranger.send(SIGN_IN, credential=signed)["Location"].startswith(LOGIN)
    stranger.options()
    assert stranger.send(SIGN_IN, credential=signed)["Location"].startswith(LOGIN)
    assert not stranger.is_signed_in


class SlowSigner(signing.TimestampSigner):
    """Signs as five minutes ago."""

    def timestamp(self) -> str:
        return signing.b62_encode(int(time.time()) - 301)


def test_a_challenge_expires_after_five_minutes(passkey: SoftwarePasskey) -> None:
    window = PasskeyBrowser()
    signed = passkey.sign(window.options())
    session = window.session
    key = "passkey.challenge"
    session[key] = SlowSigner(salt=key).sign_object(signing.loads(session[key], salt=key))
    session.save()
    assert window.send(SIGN_IN, credential=signed)["Location"].startswith(LOGIN)


def test_an_unused_request_leaves_a_session_of_ten_minutes() -> None:
    window = PasskeyBrowser()
    window.options()
    assert window.session.get_expiry_age() <= 600
    assert Session.objects.count() == 1


def test_refused_passkeys_count_as_failed_sign_ins(
    passkey: SoftwarePasskey, settings: LazySettings
) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    settings.AXES_COOLOFF_TIME = timedelta(seconds=600)
    bad = SoftwarePasskey()
    bad.credential_id = passkey.credential_id
    statuses = [PasskeyBrowser().sign_in_with(bad).status_code for _ in range(4)]
    assert statuses == [302, 302, 429, 429]
    assert PasskeyBrowser().sign_in_with(passkey).status_code == 429
    assert Browser().sign_in().status_code == 429


@given(response=st.one_of(st.text(), st.just("{}"), st.just("[]"), st.just("null")))
def test_a_damaged_response_is_refused(response: str) -> None:
    with pytest.raises(webauthn.ResponseRefusedError):
        webauthn.read_credential_id(response)


def test_a_damaged_response_leads_back_to_sign_in() -> None:
    for response in ("", '{"rawId": 5}', "x" * 50_000, '{"id": "a", "rawId": "b"}'):
        assert PasskeyBrowser().send(SIGN_IN, credential=response)["Location"].startswith(LOGIN)
