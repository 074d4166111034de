"""The icon that browsers ask for by a name of their own, whatever a page says."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseRedirect
from django.templatetags.static import static
from django.views.decorators.http import require_safe


@require_safe
def favicon(request: HttpRequest) -> HttpResponseRedirect:
    """Leads on to the icon; for a day nobody asks again."""
    there = HttpResponseRedirect(static("favicon.svg"))
    there["Cache-Control"] = "public, max-age=86400"
    return there
