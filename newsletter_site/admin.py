"""Who may sign in, and the log of what was done, in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from newsletter_site.models import User

admin.site.site_header = "Homing"
admin.site.site_title = "Homing"
admin.site.index_title = "Administration"

admin.site.register(User, UserAdmin)


@admin.register(LogEntry)
class LogEntryAdmin(admin.ModelAdmin):
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
