"""Authors and the activity log in the admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin
from django.db.models import Field, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters
from django_otp.plugins.otp_static import admin as _static_admin  # noqa: F401 -- it registers
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp import admin as _totp_admin  # noqa: F401 -- it registers
from django_otp.plugins.otp_totp.models import TOTPDevice

from newsletter_site.authors.lock_accounts import AccountRefusedError, accounts_locked
from newsletter_site.models import User
from newsletter_site.sign_in.reauthenticate import identity_error
from publishing.activity.activity_sentences import plain_sentence_of

if TYPE_CHECKING:
    _UserAdmin = UserAdmin[User]
    _LogAdmin = admin.ModelAdmin[LogEntry]
else:
    _UserAdmin, _LogAdmin = UserAdmin, admin.ModelAdmin  # these classes are not generic at run time

# Django's admin would show the secrets of two-step devices. Users set up two-step sign-in on a
# separate page.
for _device in (TOTPDevice, StaticDevice):
    admin.site.unregister(_device)

admin.site.site_header = "Homing"
admin.site.site_title = "Homing"
admin.site.index_title = _("Administration")

GROUPS = _(
    "Groups give permissions. Four groups are the roles on the page Authors: Writers, Publishers, "
    "Managers of readers (reader support) and Administrators. Operators control sending and change "
    "the newsletter settings. An account can be in several groups."
)
STAFF = _("Only accounts with staff status can sign in.")
# The last fieldset of Django's UserAdmin contains the dates.
*_FIELDSETS, (_DATES, _DATE_OPTIONS) = _UserAdmin.fieldsets or ()


@admin.register(User)
class AuthorAdmin(_UserAdmin):
    # django-stubs does not know that the class has a tuple here.
    list_display = (*_UserAdmin.list_display, "group_names", "has_two_step")  # type: ignore[misc]
    readonly_fields = ("last_login", "date_joined", "two_step_since")
    fieldsets = (*_FIELDSETS, (_DATES, {"fields": (*_DATE_OPTIONS["fields"], "two_step_since")}))

    change_user_password_template = "admin/newsletter_site/user/change_password.html"  # noqa: S105

    @method_decorator(sensitive_post_parameters())
    def user_change_password(
        self,
        request: HttpRequest,
        id: str,  # noqa: A002 -- the name in the URL
        form_url: str = "",
    ) -> HttpResponse:
        """Set another user's password. The signed-in user must type a password or code."""
        if unquote(id) == str(request.user.pk):
            return HttpResponseRedirect(reverse("admin:password_change"))
        is_change = request.method == "POST" and self.has_change_permission(request)
        if is_change and (error := identity_error(request)):
            messages.error(request, "{} {}".format(error, gettext("Nothing was changed.")))
            return HttpResponseRedirect(request.get_full_path())
        return super().user_change_password(request, id, form_url)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Save an account, unless nobody could publish or manage authors then."""
        return _keep_last(super().changeform_view, request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Delete an account, unless nobody could publish or manage authors then."""
        return _keep_last(super().delete_view, request, *args, **kwargs)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """List accounts, or delete those that are selected, unless they are the last ones."""
        return _keep_last(super().changelist_view, request, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        if obj.is_active:
            obj.left_at = None
        super().save_model(request, obj, form, change)

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    @admin.display(description=_("groups"))
    def group_names(self, author: User) -> str:
        return ", ".join(sorted(group.name for group in author.groups.all()))

    @admin.display(description=_("two-step sign-in"), boolean=True)
    def has_two_step(self, author: User) -> bool:
        return author.two_step_since is not None

    def formfield_for_dbfield(
        self, db_field: Field[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> Any:
        help_texts = {"is_staff": STAFF, "groups": GROUPS}
        if db_field.name in help_texts:
            kwargs["help_text"] = help_texts[db_field.name]
        return super().formfield_for_dbfield(db_field, request, **kwargs)


def _keep_last(view: Callable[..., Any], request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
    if request.method != "POST":
        return view(request, *args, **kwargs)
    try:
        with accounts_locked():
            return view(request, *args, **kwargs)
    except AccountRefusedError as error:
        # Reading the messages takes back the one that says that the account was changed.
        list(messages.get_messages(request))
        messages.error(request, str(error))
        return HttpResponseRedirect(request.get_full_path())


@admin.register(LogEntry)
class LogEntryAdmin(_LogAdmin):
    """The activity log, read-only."""

    list_display = ("action_time", "user", "object_repr", "change")
    list_display_links = None
    list_select_related = ("user", "content_type")
    date_hierarchy = "action_time"

    @admin.display(description=_("activity"))
    def change(self, entry: LogEntry) -> str:
        return plain_sentence_of(entry)

    def has_add_permission(self, request: HttpRequest, obj: LogEntry | None = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission
