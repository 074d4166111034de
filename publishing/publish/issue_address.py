"""
The public address of an issue.

It is fixed once copies or pages may contain it. The database function `the_address_is_fixed`
decides that.
"""

from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.utils.text import slugify

from publishing.models import Issue

ONE_PER_ADDRESS = "one_issue_per_archive_address"
LONGEST_SLUG = 60
LONGEST_OLD_SLUG = 80


def save_new_issue(title: str, *, unlisted: bool) -> Issue:
    """Create an issue with an address from its title."""
    issue = Issue(title=title, unlisted=unlisted, published_unlisted=unlisted)
    _save_at_free_address(issue, _addresses(issue, title))
    return issue


def save_moved_issue(
    title: str, slug: str, moved_from: str, own_id: UUID | None, *, unlisted: bool
) -> Issue:
    """Create a moved-in issue at its old address, or near it if that is taken."""
    issue = Issue(
        title=title, moved_from=moved_from, unlisted=unlisted, published_unlisted=unlisted
    )
    issue.pk = own_id or issue.pk
    words = slugify(slug)[:LONGEST_OLD_SLUG].strip("-")
    near = words[:LONGEST_SLUG] or _addresses(issue, title)[0]
    # Ids of another Homing may begin alike.
    last = f"{near[: LONGEST_OLD_SLUG - 33]}-{issue.pk.hex}"
    old = (words or near, f"{near}-{issue.pk.hex[:8]}", last)
    _save_at_free_address(issue, old)
    return issue


def update_address(issue: Issue, title: str) -> None:
    """Give an issue the address of its new title, if the address can still change."""
    addresses = _addresses(issue, title)
    if issue.slug not in addresses and not _is_address_fixed(issue):
        _save_at_free_address(issue, addresses)


def _is_address_fixed(issue: Issue) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT the_address_is_fixed(%s)", [issue.pk])
        return bool(cursor.fetchone()[0])


def _addresses(issue: Issue, title: str) -> tuple[str, str]:
    """Return the possible addresses: the title, alone or with a part of the id."""
    words = slugify(title)[:LONGEST_SLUG].strip("-") or "issue"
    return words, f"{words}-{issue.pk.hex[:8]}"


def _save_at_free_address(issue: Issue, addresses: tuple[str, ...]) -> None:
    is_new = issue._state.adding
    for slug in addresses:
        if Issue.objects.filter(slug=slug).exists():
            continue
        issue.slug = slug
        try:
            with transaction.atomic():
                issue.save(force_insert=is_new, update_fields=None if is_new else ["slug"])
        except IntegrityError as error:
            # A concurrent issue of the same title took the short address.
            if constraint_of(error) == ONE_PER_ADDRESS:
                continue
            raise
        return
    raise RuntimeError(f"No address was free for an issue called {issue.title!r}.")


def constraint_of(error: IntegrityError) -> str | None:
    """Return the name of the violated constraint."""
    return getattr(getattr(error.__cause__, "diag", None), "constraint_name", None)
