"""Plan, choose and save the public address of an issue.

The address can no longer change once copies or pages may contain it. The database function
`the_address_is_fixed_1` decides whether an address can still change.
"""

import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from delivery.models import Edition, Newsletter
from publishing.editions.archive_visibility import columns_of
from publishing.editions.slug_from_title import LONGEST_SLUG, address_words
from publishing.editions.versions import VersionRefusedError
from publishing.models import Draft, Issue, Visibility

ONE_PER_ADDRESS = "one_issue_per_archive_address"
LONGEST_OLD_SLUG = 80


class AddressTakenError(VersionRefusedError):
    """Another issue has the address that the author chose."""

    def __init__(self, address: str) -> None:
        sentence = _("The address “{address}” belongs to another issue. Choose another one.")
        super().__init__(sentence.format(address=address))


class AddressFixedError(VersionRefusedError):
    """The author chose a new address, but copies may already link to the old address."""

    def __init__(self, address: str) -> None:
        sentence = _(
            "The address of this issue is “{address}”. It stays, because copies or links may lead "
            "to it."
        )
        super().__init__(sentence.format(address=address))


@dataclass(frozen=True, slots=True)
class PlannedAddress:
    """The address that a draft will get.

    If another issue has the address, `is_taken` is True. An author cannot choose a taken address.
    """

    words: str
    is_chosen: bool
    is_fixed: bool
    is_taken: bool


def plan_address(draft: Draft, title: str) -> PlannedAddress:
    """Return the address that a draft with this title gets when it is published."""
    issue = draft.issue
    if issue is not None and _is_address_fixed(issue):
        return PlannedAddress(issue.slug, is_chosen=False, is_fixed=True, is_taken=False)
    words = draft.address or _words(title)
    is_taken = _is_taken(words, draft.issue_id)
    return PlannedAddress(words, bool(draft.address), is_fixed=False, is_taken=is_taken)


def choose_address(draft: Draft, text: str) -> str:
    """Store the address that an author chose, and return it.

    If the address is empty, the issue gets its address from the title.

    Raises `ValueError` or `VersionRefusedError` with one sentence.
    """
    # Decode the text, because browsers copy letters of some scripts in a form such as “%D0%BF”.
    chosen = _parse(unquote(text)) if text.strip() else ""
    if chosen and _is_taken(chosen, draft.issue_id):
        raise AddressTakenError(chosen)
    if draft.issue is not None and _is_address_fixed(draft.issue):
        raise AddressFixedError(draft.issue.slug)
    if not Draft.objects.filter(pk=draft.pk, edition=None).update(address=chosen):
        raise ValueError(_("The draft was published or deleted. Its address stays."))
    return chosen


def exact_address(text: str, issue: UUID | None) -> str:
    """Return the address that a script chose, if it is valid without any change.

    Homing does not correct the address, because the script would not know the corrected address.
    Raises `ValueError`.
    """
    chosen = _parse(text)
    if unicodedata.normalize("NFC", text) != chosen:
        sentence = (
            _(
                "“{text}” is not an address, and “{address}” belongs to another issue. Choose "
                "another one."
            )
            if _is_taken(chosen, issue)
            else _("“{text}” is not an address. Use “{address}”.")
        )
        raise ValueError(sentence.format(text=text, address=chosen))
    return chosen


def is_at(edition: Edition, address: str) -> bool:
    """Return whether an edition was published at an address."""
    return edition.archive_url.endswith(reverse("archive:issue", args=[address]))


def save_new_issue(title: str, visibility: Visibility, *, chosen: str = "") -> Issue:
    """Create an issue at the address that its author chose or its title gives.

    Raises `AddressTakenError`.
    """
    issue = Issue(title=title, **_columns_of(visibility))
    _save_at_free_address(issue, _addresses(issue, title, chosen))
    return issue


def save_moved_issue(
    title: str, slug: str, moved_from: str, own_id: UUID | None, visibility: Visibility
) -> Issue:
    """Create a moved-in issue at its old address, or at a similar free address."""
    issue = Issue(title=title, moved_from=moved_from, **_columns_of(visibility))
    issue.pk = own_id or issue.pk
    words = address_words(unquote(slug), longest=LONGEST_OLD_SLUG)
    near = words[:LONGEST_SLUG] or _words(title)
    # The last address has the whole id, because ids from another Homing may begin with the same
    # digits.
    last = f"{near[: LONGEST_OLD_SLUG - 33]}-{issue.pk.hex}"
    old = (words or near, f"{near}-{issue.pk.hex[:8]}", last)
    _save_at_free_address(issue, old)
    return issue


def _columns_of(visibility: Visibility) -> dict[str, bool]:
    now = columns_of(visibility)
    return now | {"published_unlisted": now["unlisted"], "published_with_page": now["has_page"]}


def update_address(issue: Issue, title: str, chosen: str = "") -> None:
    """Change an issue's address if no copy or page may contain the old address.

    Raises `AddressTakenError`. Raises `AddressFixedError` if the address cannot change but the
    author chose another address.
    """
    addresses = _addresses(issue, title, chosen)
    if issue.slug not in addresses and not _is_address_fixed(issue):
        _save_at_free_address(issue, addresses)
    elif chosen and issue.slug != chosen:
        raise AddressFixedError(issue.slug)


def _parse(text: str) -> str:
    longest = _("An address has at most {n} characters. This one has {length}.")
    if len(text) > LONGEST_OLD_SLUG:
        raise ValueError(longest.format(n=LONGEST_OLD_SLUG, length=len(text)))
    language = Newsletter.objects.get_current().language
    chosen = address_words(text, language, longest=LONGEST_OLD_SLUG)
    if not chosen:
        raise ValueError(_("An address needs letters or digits. Nothing was changed."))
    return chosen


def _is_address_fixed(issue: Issue) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT the_address_is_fixed_1(%s)", [issue.pk])
        return bool(cursor.fetchone()[0])


def _is_taken(words: str, issue: UUID | None) -> bool:
    """Return whether an issue other than this one has the address."""
    return any(pk != issue for pk in Issue.objects.filter(slug=words).values_list("pk", flat=True))


def _words(title: str) -> str:
    return address_words(title, Newsletter.objects.get_current().language) or "issue"


def _addresses(issue: Issue, title: str, chosen: str) -> tuple[str, ...]:
    """Return the chosen address, or else two addresses made from the title.

    The second address from the title also has a part of the issue's id.
    """
    if chosen:
        return (chosen,)
    words = _words(title)
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
            # An issue that was saved at the same time took this address, so try the next address.
            if constraint_of(error) == ONE_PER_ADDRESS:
                continue
            raise
        return
    raise AddressTakenError(addresses[-1])


def constraint_of(error: IntegrityError) -> str | None:
    """Return the name of the constraint that was violated."""
    return getattr(getattr(error.__cause__, "diag", None), "constraint_name", None)
