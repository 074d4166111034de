"""The page of all authors, and the pages to invite and to change one author."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from delivery.interface import database_time
from delivery.mail.transactional_mail_texts import INVITATION_DAYS
from newsletter_site.authors import change_author, invitations
from newsletter_site.authors.lock_accounts import AccountRefusedError
from newsletter_site.models import Invitation, User
from newsletter_site.sign_in.sign_in_methods import two_step_methods
from publishing.desk_access import desk_page, may_manage_authors
from publishing.desk_permissions import MANAGE_AUTHORS
from publishing.desk_roles import ROLES, Role, role_label
from publishing.display_name import called
from publishing.one_line_field import OneLineField
from subscribers.desk.reader_filter import read_number
from subscribers.links.see_other import see_other
from subscribers.signup.signup_form import AddressField


class InvitationForm(forms.Form):
    """The address, the name and the role of an invited person."""

    email = AddressField(label=gettext_lazy("Email address"))
    name = OneLineField(
        label=gettext_lazy("Name"),
        max_length=150,
        help_text=gettext_lazy("They can change it. Readers see it on letters."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(
        label=gettext_lazy("Role"),
        choices=[(role.name, role.label) for role in ROLES.values()],
        error_messages={"required": gettext_lazy("Choose a role.")},
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="%s")


@may_manage_authors
@require_http_methods(["GET", "HEAD", "POST"])
def authors_page(request: HttpRequest) -> HttpResponse:
    """List the authors and invitations; on POST, invite somebody."""
    if request.method != "POST":
        return _authors_page(request, InvitationForm())
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _authors_page(request, form, status=422)
    typed = form.cleaned_data
    try:
        invitations.invite(typed["email"], typed["name"], ROLES[typed["role"]], _user(request))
    except AccountRefusedError as error:
        form.add_error("email", str(error))
        return _authors_page(request, form, status=422)
    done = _("{name} is invited. The mail goes to {address}.")
    messages.success(request, done.format(name=typed["name"], address=typed["email"]))
    return see_other(reverse("authors"))


@may_manage_authors
@require_POST
def change_invitation(request: HttpRequest, invitation: int) -> HttpResponse:
    """Send an invitation again, or withdraw it, by the posted field `do`."""
    by, do = _user(request), request.POST.get("do", "")
    if do == "withdraw":
        row = invitations.withdraw(invitation, by)
        done = _("The invitation of {name} is withdrawn. Its link no longer works.")
    elif do == "again":
        number = read_number(request.POST.get("number", ""))
        try:
            row = invitations.invite_again(invitation, number or 0, by)
        except AccountRefusedError as error:
            messages.error(request, str(error))
            return see_other(reverse("authors"))
        done = _("{name} is invited again. Only the link in the new mail works.")
    else:
        raise Http404
    if row is None:
        messages.info(request, _("Nothing was changed: the invitation has changed meanwhile."))
    else:
        messages.success(request, done.format(name=row.name))
    return see_other(reverse("authors"))


@may_manage_authors
@require_http_methods(["GET", "HEAD"])
def author_page(request: HttpRequest, author: uuid.UUID) -> HttpResponse:
    """Show one author, the roles to choose from, and the actions."""
    row = _author(author)
    context = {
        "author": row,
        "role": change_author.role_of(row),
        "role_words": change_author.describe_role(row),
        "roles": ROLES.values(),
        "work": change_author.work_of(row),
        "two_steps_without_code": two_step_methods(row),
        "is_me": row.pk == request.user.pk,
        "is_fixed": row.is_superuser and not _user(request).is_superuser,
    }
    return desk_page(request, "authors/author.html", context)


@dataclass(frozen=True, slots=True)
class AuthorAction:
    """An action on an author, which the manager confirms.

    `{name}` in a text is the author's name.
    """

    heading: Promise
    question: Promise
    button: Promise
    done: Promise
    perform: Callable[[User, HttpRequest], object]
    tone: str = ""


ACTIONS = {
    "role": AuthorAction(
        gettext_lazy("Change the role of {name}?"),
        gettext_lazy("The change takes effect at once. API tokens lose what the role may not do."),
        gettext_lazy("Change role"),
        gettext_lazy("{name} has a new role."),
        lambda author, request: change_author.change_role(
            author.pk, _posted_role(request), _user(request)
        ),
    ),
    "disable": AuthorAction(
        gettext_lazy("Disable the account of {name}?"),
        gettext_lazy(
            "Sign-ins, sessions and API tokens are refused at once. Drafts and issues stay. You "
            "can enable the account again."
        ),
        gettext_lazy("Disable account"),
        gettext_lazy("The account of {name} is disabled."),
        lambda author, request: change_author.set_active(
            author.pk, is_active=False, by=_user(request)
        ),
        "risk",
    ),
    "enable": AuthorAction(
        gettext_lazy("Enable the account of {name}?"),
        gettext_lazy(
            "The author can sign in again, with the earlier password and role. Sessions and API "
            "tokens that have not ended work again."
        ),
        gettext_lazy("Enable account"),
        gettext_lazy("The account of {name} is enabled."),
        lambda author, request: change_author.set_active(
            author.pk, is_active=True, by=_user(request)
        ),
    ),
    "hand-over": AuthorAction(
        gettext_lazy("Hand over the drafts of {name}?"),
        gettext_lazy(
            "The new author counts as the one who saved the drafts last. The texts do not change."
        ),
        gettext_lazy("Hand over"),
        gettext_lazy("The drafts of {name} are handed over."),
        lambda author, request: change_author.hand_over(
            author.pk, posted_successor(request, author), _user(request)
        ),
    ),
}


@may_manage_authors
@require_http_methods(["GET", "HEAD", "POST"])
def act_on_author(request: HttpRequest, author: uuid.UUID, what: str) -> HttpResponse:
    """Ask for confirmation; on POST, perform the action."""
    if what not in ACTIONS:
        raise Http404
    row, action, error = _author(author), ACTIONS[what], ""
    if request.method == "POST":
        try:
            result = action.perform(row, request)
        except AccountRefusedError as refused:
            error = str(refused)
        else:
            done = _("{name} has no open drafts.") if result == 0 else str(action.done)
            messages.success(request, done.format(name=called(row)))
            # Managers who gave up their own permission cannot open the page of authors.
            may_stay = row.pk != request.user.pk or _author(author).has_perm(MANAGE_AUTHORS)
            return see_other(reverse("author", args=[author]) if may_stay else reverse("profile"))
    chosen = request.POST if request.method == "POST" else request.GET
    context = {
        "author": row,
        "what": what,
        "action": action,
        "heading": str(action.heading).format(name=called(row)),
        "role": ROLES.get(chosen.get("role", "")),
        "role_words": change_author.describe_role(row),
        "work": change_author.work_of(row),
        "successors": change_author.successors_of(row) if what == "hand-over" else [],
        "chosen_successor": chosen.get("successor", ""),
        "error": error,
    }
    page = "authors/author_action.html"
    return desk_page(request, page, context, status=409 if error else 200)


def posted_successor(request: HttpRequest, author: User) -> User:
    """Return the chosen successor. Raise `AccountRefusedError` without one."""
    typed = request.POST.get("successor", "")
    successors = change_author.successors_of(author)
    successor = next((one for one in successors if str(one.pk) == typed), None)
    if successor is None:
        raise AccountRefusedError(_("Choose an author who takes over the drafts."))
    return successor


def _posted_role(request: HttpRequest) -> Role:
    role = ROLES.get(request.POST.get("role", ""))
    if role is None:
        raise AccountRefusedError(_("Choose a role."))
    return role


def _author(key: uuid.UUID) -> User:
    return get_object_or_404(
        User.objects.prefetch_related("groups", "user_permissions"), pk=key, is_staff=True
    )


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101 -- the guard has refused everyone else
    return request.user


def _authors_page(request: HttpRequest, form: InvitationForm, status: int = 200) -> HttpResponse:
    # People who can sign in come first, then those who cannot.
    people = sorted(
        User.objects.filter(is_staff=True).prefetch_related("groups", "user_permissions"),
        key=lambda one: (not one.is_active, called(one).casefold()),
    )
    invited = list(Invitation.objects.order_by("-sent_at"))
    lost, now = invitations.undelivered_among(invited), database_time()
    context = {
        "people": [(one, change_author.describe_role(one)) for one in people],
        "invited": [
            (one, role_label(one.role), one.number in lost, one.expires_at <= now)
            for one in invited
        ],
        "form": form,
        "roles": ROLES.values(),
        "invitation_days": INVITATION_DAYS,
    }
    return desk_page(request, "authors/authors.html", context, status=status)
