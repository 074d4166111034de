"""Who may sign in, and the log of what was done, in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin
from django.db.models import Field, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters
from django_otp.plugins.otp_static import admin as _static_admin  # noqa: F401 -- it registers
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp import admin as _totp_admin  # noqa: F401 -- it registers
from django_otp.plugins.otp_totp.models import TOTPDevice

from newsletter_site.models import User
from newsletter_site.sign_in.attempts import Refused
from newsletter_site.sign_in.reauthenticate import what_is_wrong
from newsletter_site.sign_in.wait_page import refused_page

if TYPE_CHECKING:
    AuthorPages = UserAdmin[User]
    LogPages = admin.ModelAdmin[LogEntry]
else:
    AuthorPages, LogPages = UserAdmin, admin.ModelAdmin  # they take no type at run time

# Their secrets are nobody's to see: a second factor is set up by its owner, on a page of its own.
for _device in (TOTPDevice, StaticDevice):
    admin.site.unregister(_device)

admin.site.site_header = "Homing"
admin.site.site_title = "Homing"
admin.site.index_title = "Administration"

GROUPS = (
    "What somebody may do comes from their groups. Writers write drafts, preview them and send "
    "tests. Publishers also publish, and approve what others publish. Managers of readers see, "
    "import, export and erase readers. Operators pause, resume and settle what goes out, and "
    "change the newsletter. Whoever does several things is in several groups."
)
STAFF = (
    "Without this nobody can sign in, whatever their groups: the desk and these pages have one "
    "door."
)
# Django's: the last of them holds the moments.
*_FIELDS_BEFORE, (_MOMENTS, _OF_MOMENTS) = AuthorPages.fieldsets or ()


@admin.register(User)
class AuthorAdmin(AuthorPages):
    """Authors and operators, with words about what their groups let them do."""

    # One tuple for all objects of the class; to django-stubs it is one for each.
    list_display = (*AuthorPages.list_display, "in_groups", "has_second_factor")  # type: ignore[misc]
    # They are noted, not chosen; and Django's fields for a moment have no labels.
    readonly_fields = ("last_login", "date_joined", "second_factor_since")
    fieldsets = (
        *_FIELDS_BEFORE,
        (_MOMENTS, {"fields": (*_OF_MOMENTS["fields"], "second_factor_since")}),
    )

    change_user_password_template = "admin/newsletter_site/user/change_password.html"  # noqa: S105

    @method_decorator(sensitive_post_parameters())
    def user_change_password(
        self,
        request: HttpRequest,
        id: str,  # noqa: A002 -- its address calls it so
        form_url: str = "",
    ) -> HttpResponse:
        """
        A new password for somebody else, by whoever proves who they are; for oneself the old one is
        asked for. An open session would be worth as much as a password otherwise.
        """
        if unquote(id) == str(request.user.pk):
            return HttpResponseRedirect(reverse("admin:password_change"))
        if request.method == "POST" and self.has_change_permission(request):
            wrong = what_is_wrong(request, request.POST.get("proof", ""))
            if isinstance(wrong, Refused):
                return refused_page(request)
            if wrong:
                messages.error(request, f"{wrong} Nothing was changed.")
                return HttpResponseRedirect(request.get_full_path())
        return super().user_change_password(request, id, form_url)

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    @admin.display(description="groups")
    def in_groups(self, author: User) -> str:
        """The groups of a person, by name."""
        return ", ".join(sorted(group.name for group in author.groups.all()))

    @admin.display(description="second factor", boolean=True)
    def has_second_factor(self, author: User) -> bool:
        """Whether a code is asked for."""
        return author.second_factor_since is not None

    def formfield_for_dbfield(
        self, db_field: Field[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> Any:
        said = {"is_staff": STAFF, "groups": GROUPS}
        if db_field.name in said:
            kwargs["help_text"] = said[db_field.name]
        return super().formfield_for_dbfield(db_field, request, **kwargs)


@admin.register(LogEntry)
class LogEntryAdmin(LogPages):
    """The audit trail: to be read, and changed by nobody."""

    list_display = ("action_time", "user", "object_repr", "what_was_done")
    list_display_links = None
    list_select_related = ("user", "content_type")
    date_hierarchy = "action_time"

    @admin.display(description="what was done")
    def what_was_done(self, entry: LogEntry) -> str:
        """The change in words."""
        return entry.get_change_message()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: LogEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: LogEntry | None = None) -> bool:
        return False
