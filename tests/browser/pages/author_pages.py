"""The pages of authors: list, one author, actions, profile and invitation."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.utils import timezone

from newsletter_site.authors import invitations
from newsletter_site.authors.invitations import invitation_link_path
from newsletter_site.models import Passkey
from publishing.desk_roles import ROLES
from publishing.models import Draft
from tests.browser.pages.accessibility import LONGEST, LONGEST_ADDRESS, Pages, Shown

AUTHORS, PROFILE, PASSKEYS = "/admin/authors/", "/admin/profile/", "/admin/passkeys/"


def pages_of_authors(author: Any) -> Pages:
    """Return the pages with the longest names and addresses, also after errors."""
    for role in ROLES.values():
        Group.objects.get_or_create(name=role.group)
    other = get_user_model().objects.create_user(
        LONGEST.upper(), email=LONGEST_ADDRESS, first_name=LONGEST, is_staff=True,
        is_active=False, left_at=timezone.now(),
    )  # fmt: skip
    Draft.objects.create(title="Swifts", saved_by=author)
    Draft.objects.create(title="Herons", saved_by=other)
    mail = invitations.invite("gus@example.org", LONGEST, ROLES["writer"], author)
    there = f"{AUTHORS}{other.pk}/"
    passkey = Passkey.objects.create(
        user=author, name=LONGEST[:60], credential_id=b"1", public_key=b"1", sign_count=0
    )

    return {
        "authors": Shown(AUTHORS),
        "authors, with errors": Shown(
            AUTHORS, lambda page: page.get_by_role("button", name="Send invitation").click()
        ),
        "one author": Shown(there),
        "oneself": Shown(f"{AUTHORS}{author.pk}/"),
        "another role": Shown(f"{there}role/?role=publisher"),
        "no role": Shown(f"{there}role/"),
        "enable": Shown(f"{there}enable/"),
        "hand over": Shown(f"{there}hand-over/"),
        "profile": Shown(PROFILE),
        "passkeys": Shown(PASSKEYS),
        "one passkey": Shown(f"{PASSKEYS}{passkey.pk}/"),
        "leave": Shown(f"{PROFILE}leave/"),
        "invitation": Shown(invitation_link_path(mail.number)),
        "invitation that has ended": Shown("/admin/join/nothing/"),
    }
