"""The newsletter's one row in the admin, which can only be changed."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from delivery.models import Newsletter


@admin.register(Newsletter)
class NewsletterAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes none at run time
    """Name, tagline, address, zone, language, reply-to. Existing editions keep theirs."""

    fields = (
        "name",
        "tagline",
        "postal_address",
        "time_zone",
        "language",
        "reply_to",
        "second_person",
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Newsletter | None = None) -> bool:
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the one row instead of a list."""
        if not self.has_view_or_change_permission(request):
            return super().changelist_view(request, extra_context)
        return redirect("admin:delivery_newsletter_change", Newsletter.objects.get_current().pk)
