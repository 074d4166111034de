"""Five groups of permissions (docs/permissions.md).

Four of the groups are roles (publishing/desk_roles.py).

A migration creates these groups in a new database. After the first release, each change here needs
a migration that also changes the groups of existing databases.
"""

# Each permission has an app, a model, a codename and a name.
VIEW = ("publishing", "issue", "view_issue", "Can view issue")
WRITE = (
    "publishing",
    "issue",
    "write_draft",
    "Can write drafts, preview them and send tests of them",
)
PUBLISH = ("publishing", "issue", "publish_edition", "Can publish editions to readers")
OPERATE = (
    "publishing",
    "issue",
    "operate_sending",
    "Can pause, resume and settle what is going out",
)
MANAGE = (
    "subscribers",
    "subscriber",
    "manage_readers",
    "Can see, import, export and erase readers",
)
NEWSLETTER = ("delivery", "newsletter", "change_newsletter", "Can change newsletter")
AUTHORS = (
    "newsletter_site",
    "user",
    "manage_authors",
    "Can invite authors and change their roles",
)
GROUPS = {
    "Writers": (VIEW, WRITE),
    "Publishers": (VIEW, WRITE, PUBLISH),
    "Managers of readers": (MANAGE,),
    "Operators": (VIEW, OPERATE, NEWSLETTER),
    "Administrators": (VIEW, WRITE, PUBLISH, MANAGE, OPERATE, NEWSLETTER, AUTHORS),
}
