"""The newsletter's one row in the admin: changed, never added or deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from delivery.models import Newsletter

if TYPE_CHECKING:
    NewsletterPages = admin.ModelAdmin[Newsletter]
else:
    NewsletterPages = admin.ModelAdmin  # it takes no type at run time


@admin.register(Newsletter)
class NewsletterAdmin(NewsletterPages):
    """Name, tagline, address, zone, language and reply-to. Editions that exist keep theirs."""

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
        newsletter = Newsletter.objects.the_one()
        return HttpResponseRedirect(
            reverse("admin:delivery_newsletter_change", args=[newsletter.pk])
        )
