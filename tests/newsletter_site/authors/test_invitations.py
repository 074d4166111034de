"""Invitations: one mail with a link, which works once and for seven days."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from delivery.mail.transactional_mail_texts import INVITATION_ISSUE
from delivery.models import Delivery
from newsletter_site.authors import change_author, invitations
from newsletter_site.authors.invitations import invitation_link_path
from newsletter_site.authors.lock_accounts import AccountRefusedError
from newsletter_site.models import Invitation, User
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.desk_roles import ROLES
from subscribers.models import Suppression
from tests.newsletter_site.authors.conftest import PASSWORD
from tests.publishing.author_browser import Page, WindowOf
from tests.publishing.second_connection import at_once

Make = Callable[..., User]
AUTHORS = "/admin/authors/"
GUS = {"email": "gus@example.org", "name": "Gus Falk", "role": "writer"}
TYPED = {"username": "gus", "name": "Gus Falk", "password": PASSWORD, "again": PASSWORD}


def mails() -> list[str]:
    return [one.address for one in Delivery.objects.filter(issue_id=INVITATION_ISSUE)]


def link() -> str:
    return invitation_link_path(Invitation.objects.get().number)


def accept(path: str, **changes: str) -> Page:
    return WindowOf(None).post(path, **TYPED | changes)


@pytest.fixture
def window(ada: User) -> WindowOf:
    return WindowOf(ada)


@pytest.fixture
def gus(window: WindowOf) -> Invitation:
    assert window.post(AUTHORS, **GUS).status == 303
    return Invitation.objects.get()


def test_an_invited_person_gets_an_account_with_the_role(gus: Invitation) -> None:
    assert mails() == ["gus@example.org"]
    person = WindowOf(None)
    form = person.get(link()).form_with("username").fields
    assert (form["username"], form["name"]) == ("gus", "Gus Falk")
    answer = person.post(link(), **TYPED)
    assert answer.answer["Location"] == "/admin/profile/"
    assert "Writer" in person.get("/admin/profile/").words
    account = User.objects.get(username="gus")
    assert account.check_password(PASSWORD)
    assert (account.email, account.get_full_name()) == ("gus@example.org", "Gus Falk")
    assert account.has_perm("publishing.write_draft")
    assert not account.has_perm("publishing.publish_edition")
    assert [plain_sentence_of(entry) for entry in LogEntry.objects.order_by("pk")][:2] == [
        "ada invited Gus Falk with the role Writer.",
        "Gus Falk accepted an invitation with the role Writer.",
    ]


def test_a_link_works_once(gus: Invitation) -> None:
    path = link()
    first, second = at_once(lambda: accept(path), lambda: accept(path, username="gustav"))
    assert {first.status, second.status} == {302, 410}
    assert User.objects.count() == 2
    assert "This invitation has ended" in WindowOf(None).get(path).words


def test_only_the_link_of_the_last_mail_works(window: WindowOf, gus: Invitation) -> None:
    old, change = link(), f"/admin/invitations/{gus.pk}/"
    for _ in range(2):  # A button that is pressed twice sends one mail.
        window.post(change, do="again", number=str(gus.number))
    assert mails() == ["gus@example.org"] * 2
    assert (accept(old).status, WindowOf(None).get(link()).status) == (410, 200)
    new = link()
    window.post(change, do="withdraw")
    assert accept(new).status == 410
    assert not Invitation.objects.exists()


def test_a_link_expires_after_seven_days(window: WindowOf, gus: Invitation) -> None:
    gus.refresh_from_db()
    assert gus.expires_at - gus.sent_at == timedelta(days=7)
    now = timezone.now()
    past = {"sent_at": now - timedelta(days=8), "expires_at": now - timedelta(seconds=1)}
    Invitation.objects.update(**past)
    assert (accept(link()).status, WindowOf(None).get(link()).status) == (410, 410)
    assert "Expired" in window.get(AUTHORS).words
    assert invitations.open_invitation("nonsense") is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"email": "ADA@example.org"}, "already has an account: ada"),
        ({"email": "tove@Example.org"}, "is invited already"),
        ({"email": "bea@example.org"}, "is blocked, so Homing sends no mail to it"),
        ({"email": "gus"}, "Enter an address such as"),
        ({"role": ""}, "Choose a role."),
        ({"name": "\u200b"}, "This field is required."),
        ({"name": "Gus\x07"}, "The text contains control characters."),
    ],
)
def test_a_refused_invitation_says_why(
    window: WindowOf, changes: dict[str, str], sentence: str
) -> None:
    window.post(AUTHORS, **GUS | {"email": "tove@example.org"})
    Suppression.objects.create(
        address_key="bea@example.org", reason="manual", origin=Suppression.Origin.OPERATOR
    )
    page = window.post(AUTHORS, **GUS | changes)
    assert page.status == 422
    assert sentence in page.words
    assert mails() == ["tove@example.org"]


def test_two_who_invite_the_same_address_send_one_mail(ada: User) -> None:
    def invite() -> Any:
        try:
            return invitations.invite("gus@example.org", "Gus", ROLES["writer"], ada)
        except AccountRefusedError as error:
            return error

    assert {type(one) for one in at_once(invite, invite)} == {Invitation, AccountRefusedError}
    assert mails() == ["gus@example.org"]


def test_invitations_have_an_hourly_limit(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invitations, "MAILS_PER_HOUR", 1)
    invitations.invite("gus@example.org", "Gus", ROLES["writer"], ada)
    with pytest.raises(AccountRefusedError, match="at most 1 invitation in an hour"):
        invitations.invite("tove@example.org", "Tove", ROLES["writer"], ada)
    assert mails() == ["gus@example.org"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"password": "short", "again": "short"}, "This password is too short."),
        ({"again": "another one"}, "The two passwords differ."),
        ({"username": "two words"}, "Enter a valid username."),
        ({"username": "Ada"}, "A user with that username already exists."),
        ({"username": "ａｄａ"}, "A user with that username already exists."),
        ({"username": "\ufdfa"}, "Enter a valid username."),
        ({"username": "\u3392" * 100}, "at most 150 characters (it has 300)"),
        ({"name": "\u200b"}, "This field is required."),
    ],
)
def test_a_refused_account_says_why(
    gus: Invitation, changes: dict[str, str], sentence: str
) -> None:
    page = accept(link(), **changes)
    assert page.status == 422
    assert sentence in page.words
    assert PASSWORD not in page.source
    assert User.objects.count() == 1


def test_an_invitation_for_a_removed_role_makes_no_account(gus: Invitation) -> None:
    Invitation.objects.update(role="auditor")
    assert "the role no longer exists" in accept(link()).words
    assert User.objects.count() == 1


def test_an_address_that_got_the_mail_is_accepted(window: WindowOf) -> None:
    window.post(AUTHORS, **GUS | {"email": "gus@example.x"})
    assert accept(link()).status == 302


def test_only_the_two_buttons_change_an_invitation(window: WindowOf, gus: Invitation) -> None:
    page = f"/admin/invitations/{gus.pk}/"
    assert window.post(page, do="king", number=str(gus.number)).status == 404
    for number in ("²", "9" * 5000, ""):
        assert window.post(page, do="again", number=number).status == 303
    assert len(mails()) == 1


def test_an_invitation_ends_with_the_right_to_invite(gus: Invitation, ada: User) -> None:
    path = link()
    User.objects.create_superuser("root", password=PASSWORD)
    change_author.set_active(ada.pk, False, None)
    assert accept(path).status == 410


def test_an_address_that_got_an_account_since_is_not_invited(gus: Invitation) -> None:
    path = link()
    User.objects.create_user("august", email="Gus@example.org")
    assert accept(path).status == 410
    assert User.objects.count() == 2


def test_user_names_are_tried_a_few_times_only(gus: Invitation, settings: LazySettings) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    tried = [accept(link(), username="ada").status for _ in range(4)]
    assert tried == [422, 422, 429, 429]


def test_required_two_step_sign_in_follows_the_invitation(
    gus: Invitation, settings: LazySettings
) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    person = WindowOf(None)
    person.post(link(), **TYPED)
    assert person.get("/admin/profile/").answer["Location"] == "/admin/second-factor/"
