"""Authors add, rename and delete their passkeys."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from newsletter_site.models import OrganisationAccount, Passkey
from newsletter_site.sign_in.passkeys import passkey_store
from publishing.activity.activity_sentences import plain_sentence_of
from tests.newsletter_site.sign_in.passkeys.passkey_browser import PAGE, PasskeyBrowser
from tests.newsletter_site.sign_in.passkeys.software_passkey import PRESENT, SoftwarePasskey
from tests.newsletter_site.sign_in.two_step.two_step_browser import (
    DESK,
    LOGIN,
    PASSWORD,
    Browser,
)
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits


def sentences() -> list[str]:
    return [plain_sentence_of(entry) for entry in LogEntry.objects.order_by("pk")]


def test_a_passkey_is_added_renamed_and_deleted(own: PasskeyBrowser) -> None:
    assert "You have no passkeys yet" in own.at(PAGE).content.decode()
    page = own.add(SoftwarePasskey(), "Phone").content.decode()
    assert "“Phone” can now sign you in." in page
    assert "Not used yet." in page
    one = Passkey.objects.get()
    assert one.name in own.at(f"{PAGE}{one.pk}/").content.decode()
    page = own.change(one.pk, do="rename", name=" Old\0 \u202e phone ").content.decode()
    assert "The passkey is now called “Old phone”." in page
    page = own.change(one.pk, do="delete", name="Old phone").content.decode()
    assert "“Old phone” no longer signs you in." in page
    assert not Passkey.objects.exists()
    assert sentences()[1:] == [
        "edith added the passkey “Phone” to edith.",
        "edith renamed the passkey “Phone” to “Old phone”.",
        "edith deleted the passkey “Old phone” of edith.",
    ]


def test_every_change_needs_the_password(own: PasskeyBrowser, passkey: SoftwarePasskey) -> None:
    assert own.begin("Laptop", password="not it") == {}
    one = Passkey.objects.get()
    for fields in ({"do": "rename", "name": "Mine"}, {"do": "delete", "name": "Phone"}):
        page = own.change(one.pk, password_or_code="not it", **fields).content.decode()
        assert "This is not your password. Nothing was changed." in page
    page = own.send(PAGE, do="unlink", password_or_code="not it").content.decode()
    assert "This is not your password. Nothing was changed." in page
    assert list(Passkey.objects.values_list("name", flat=True)) == ["Phone"]


def test_passkeys_of_others_are_not_found(passkey: SoftwarePasskey) -> None:
    get_user_model().objects.create_superuser("ola", password=PASSWORD)
    window = PasskeyBrowser()
    window.send(LOGIN, username="ola", password=PASSWORD)
    assert window.change(Passkey.objects.get().pk, do="delete", name="x").status_code == 404
    assert "You have no passkeys yet" in window.at(PAGE).content.decode()


def test_a_change_ends_all_other_sessions(own: PasskeyBrowser) -> None:
    stolen = Browser()
    stolen.sign_in()
    own.add(SoftwarePasskey())
    assert own.is_signed_in
    assert not stolen.is_signed_in
    stolen.sign_in()
    own.change(Passkey.objects.get().pk, do="delete", name="Phone")
    assert own.is_signed_in
    assert not stolen.is_signed_in


def test_what_the_device_answers_is_checked(own: PasskeyBrowser) -> None:
    unverified, elsewhere, late = SoftwarePasskey(), SoftwarePasskey(), SoftwarePasskey()
    unverified.flags = PRESENT
    elsewhere.origin = "https://evil.example"
    for bad in (unverified, elsewhere):
        assert "could not check it" in own.add(bad).content.decode()
    answer = late.create(own.begin())
    assert "could not check it" in own.finish(SoftwarePasskey().create(own.begin())[:-9]).text
    # The request above has used the challenge up, so this answer comes too late.
    assert "No passkey was added" in own.finish(answer).content.decode()
    assert not Passkey.objects.exists()


def test_a_new_password_ends_an_open_request(own: PasskeyBrowser, author: Any) -> None:
    answer = SoftwarePasskey().create(own.begin())
    author.set_password("quite another one")
    author.save()
    own.send(LOGIN, username="edith", password="quite another one")
    assert "No passkey was added" in own.finish(answer).content.decode()
    assert not Passkey.objects.exists()


def test_a_passkey_is_stored_once(own: PasskeyBrowser, passkey: SoftwarePasskey) -> None:
    options = own.begin("Again")
    assert len(options["excludeCredentials"]) == 1
    assert "could not check it" in own.finish(passkey.create(options)).content.decode()
    one = Passkey.objects.get()
    one.pk = None
    with pytest.raises(IntegrityError):
        one.save()


def test_the_last_sign_in_method_stays(
    own: PasskeyBrowser, passkey: SoftwarePasskey, author: Any, settings: LazySettings
) -> None:
    author.refresh_from_db()
    author.set_unusable_password()
    author.save()
    window = PasskeyBrowser()
    window.sign_in_with(passkey)
    one = Passkey.objects.get()
    page = window.change(one.pk, do="delete", name="Phone").content.decode()
    assert "you could no longer sign in" in page
    settings.OIDC_ISSUER = "https://id.example.org"
    OrganisationAccount.objects.create(user=author, issuer=settings.OIDC_ISSUER, subject="1")
    # Both means are removed at once: one of them stays. The locked rows can be read, so a removal
    # waits only where it deletes, or for the other removal.
    with transaction.atomic():
        assert Passkey.objects.select_for_update().get()
        assert OrganisationAccount.objects.select_for_update().get()
        alone = window.session_alone()
        removals = [
            beside(lambda: window.change(one.pk, do="delete", name="Phone")),
            beside(lambda: alone.send(PAGE, do="unlink")),
        ]
        wait_until_somebody_waits(sessions=2)
    for removal in removals:
        removal.result(PATIENCE_S)
    assert Passkey.objects.count() + OrganisationAccount.objects.count() == 1


def test_a_deleted_passkey_is_neither_renamed_nor_the_last(
    own: PasskeyBrowser, passkey: SoftwarePasskey, author: Any
) -> None:
    gone = Passkey.objects.get()
    Passkey.objects.all().delete()
    author.set_unusable_password()
    assert not passkey_store.rename(author, gone, "Laptop")
    assert passkey_store.remove(author, gone)


def test_without_a_password_a_recent_sign_in_confirms(
    passkey: SoftwarePasskey, author: Any
) -> None:
    author.refresh_from_db()
    author.set_unusable_password()
    author.save()
    window = PasskeyBrowser()
    window.sign_in_with(passkey)
    assert "Your password" not in window.at(PAGE).content.decode()
    assert window.begin("Laptop", password="")
    session = window.session
    session["sign-in.at"] -= 601
    session.save()
    page = window.send(PAGE, do="begin", name="Laptop").content.decode()
    assert "Sign out, sign in again, and do this within ten minutes. Nothing was added." in page


def test_a_passkey_counts_as_two_steps(
    own: PasskeyBrowser, author: Any, settings: LazySettings
) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    assert own.at(DESK)["Location"] == "/admin/second-factor/"
    passkey = SoftwarePasskey()
    own.add(passkey)
    assert own.is_signed_in
    window = PasskeyBrowser()
    window.sign_in_with(passkey)
    assert window.is_signed_in
    # With a passkey, the password alone no longer opens the set-up of codes either.
    stranger = Browser()
    page = stranger.at(stranger.sign_in()["Location"]).content.decode()
    assert "This site needs two steps. Sign in with your passkey." in page
    assert stranger.at("/admin/second-factor/").status_code == 302
    # Without its passkey, the session needs another second step.
    own.change(Passkey.objects.get().pk, do="delete", name="Phone")
    assert own.at(DESK)["Location"] == "/admin/second-factor/"


def test_the_operator_deletes_passkeys_of_a_lost_phone(
    own: PasskeyBrowser, passkey: SoftwarePasskey
) -> None:
    call_command("remove_second_factor", "edith")
    assert not Passkey.objects.exists()
    assert not own.is_signed_in
    assert sentences()[-1] == (
        "An operator deleted the passkeys of edith. This was done on the command line."
    )
    with pytest.raises(CommandError, match="has no passkeys"):
        call_command("remove_second_factor", "edith")


def test_an_author_has_at_most_twenty_passkeys(own: PasskeyBrowser, author: Any) -> None:
    Passkey.objects.bulk_create(
        Passkey(user=author, name="x", credential_id=bytes([n]), public_key=b"", sign_count=0)
        for n in range(19)
    )
    answer = SoftwarePasskey().create(own.begin())
    Passkey.objects.create(
        user=author, name="x", credential_id=b"last", public_key=b"", sign_count=0
    )
    assert "could not check it" in own.finish(answer).content.decode()
    assert (
        "You have 20 passkeys"
        in own.send(PAGE, do="begin", name="x", password_or_code=PASSWORD).text
    )


@pytest.mark.parametrize("address", ["http://127.0.0.1:8000", "https://[2001:db8::1]"])
def test_an_address_without_a_name_offers_no_passkeys(
    own: PasskeyBrowser, settings: LazySettings, address: str
) -> None:
    assert "Sign in with a passkey" in Browser().at(LOGIN).content.decode()
    settings.SITE_URL = address
    assert "Sign in with a passkey" not in Browser().at(LOGIN).content.decode()
    assert f"the address of this site is {address}" in own.at(PAGE).content.decode()
