"""The four roles of authors. Each role is one group (newsletter_site/groups.py)."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Role:
    """A role. `name` is stored in invitations and in the activity log."""

    name: str
    group: str
    label: Promise
    sentence: Promise


ROLES = {
    role.name: role
    for role in (
        Role(
            "writer",
            "Writers",
            _("Writer"),
            _("Writes drafts, previews them and sends test letters. Someone else publishes them."),
        ),
        Role(
            "publisher",
            "Publishers",
            _("Publisher"),
            _("Writes, publishes and corrects issues, and approves the issues of others."),
        ),
        Role(
            "support",
            "Managers of readers",
            _("Reader support"),
            _("Finds, imports, exports, blocks and erases readers. Does not see drafts."),
        ),
        Role(
            "administrator",
            "Administrators",
            _("Administrator"),
            _("Does everything on the desk: issues, readers, settings and authors."),
        ),
    )
}


def role_label(name: str) -> str:
    """Return the label of a role, or its name if a newer release stored it."""
    role = ROLES.get(name)
    return str(role.label) if role else name
