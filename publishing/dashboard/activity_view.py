"""Show the page of the activity log, with filters for user and category."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from publishing.activity.activity_log import activities_for, categories_for, parse_id, people
from publishing.desk_access import desk_page, signed_in

PAGE = 50


@signed_in
@require_safe
def log(request: HttpRequest) -> HttpResponse:
    """Show a page of the log, newest first."""
    categories = categories_for(request.user)
    if not categories:
        raise PermissionDenied(
            _("Your account may not see the log. Ask an operator for the permission.")
        )
    kind = request.GET.get("kind", "")
    category = kind if kind in categories else ""
    person = parse_id(request.GET.get("person", ""))
    before = request.GET.get("before", "")
    activities, following = activities_for(
        request.user,
        category=category,
        person=person,
        before=int(before) if before.isdecimal() and len(before) < 10 else None,
        limit=PAGE,
    )
    looked = {"kind": category, "person": str(person or "")}
    return desk_page(
        request,
        "publishing/dashboard/log.html",
        {
            "activities": activities,
            "categories": list(categories.items()),
            "category": category,
            "people": people(),
            "person": person,
            "newest": _query(looked) if before else "",
            "next": _query({**looked, "before": following}) if following else "",
        },
    )


def _query(parts: Mapping[str, object]) -> str:
    return "?" + urlencode({name: value for name, value in parts.items() if value})
