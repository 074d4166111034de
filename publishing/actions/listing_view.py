"""Lists an issue in the archive or takes it out, from its progress page."""

import uuid

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from publishing.desk_access import author_of, may_publish
from publishing.editions.listing import set_unlisted
from publishing.editions.versions import versions_of
from subscribers.links.see_other import see_other

NOW_UNLISTED = (
    "The issue is unlisted now. Its page stays for those who have its address; the archive, the "
    "feed and search engines leave it out."
)
NOW_LISTED = "The issue is listed now: in the archive, in the feed and for search engines."
CHOICES = {"unlist": True, "list": False}


@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def listing(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """POST does what its button says; twice is no more than once. GET leads to the button."""
    if not versions_of(issue).exists():
        raise Http404(f"There is no issue {issue}.")
    if request.method == "POST":
        chosen = request.POST.get("choice", "")
        if chosen not in CHOICES:
            messages.warning(request, "It was not said whether to list the issue; nothing changed.")
        else:
            unlisted = CHOICES[chosen]
            set_unlisted(author_of(request), issue, unlisted=unlisted)
            messages.success(request, NOW_UNLISTED if unlisted else NOW_LISTED)
    return see_other(reverse("desk:progress", args=[issue]))
