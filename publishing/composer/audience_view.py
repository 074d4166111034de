"""Count the readers of an audience while the author is still choosing it."""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from delivery.models import Newsletter
from publishing.content.draft_content import DraftFields
from publishing.desk_access import may_write
from publishing.drafts.draft_form import DraftForm
from publishing.editions.audience import choice_of, tags_by_name
from publishing.editions.versions import audience_choices, plan_version, readers_now
from subscribers.confirmed_readers import count_by_tag


@may_write
@require_safe
def count_audience(request: HttpRequest) -> HttpResponse:
    """Return the readers that the form selects, or the readers of each tag."""
    form = DraftForm(request.GET)
    form.full_clean()
    context = audience_context(request, form.written, form.cleaned_data.get("issue"))
    page = render(request, "publishing/composer/audience_now.html", context)
    page["Cache-Control"] = "no-store"
    return page


def audience_context(
    request: HttpRequest, fields: DraftFields, issue: uuid.UUID | None
) -> dict[str, Any]:
    """Return the readers and the tags to choose from. `plan` is None for a new issue.

    The readers of each tag are counted only if the request asks for them, because this reads the
    rows of all readers. Otherwise the number is None.
    """
    counts = count_by_tag() if "count_tags" in request.GET else None
    tags = choice_of(fields.with_tags, fields.without_tags)
    plan = plan_version(issue, tags=tags) if issue else None
    return {
        "goes_to": fields.goes_to,
        "with_tags": fields.with_tags,
        "without_tags": fields.without_tags,
        "plan": plan,
        "readers": readers_now(fields.goes_to, tags, plan),
        "tags_counted": counts is not None,
        "all_tags": [
            (tag, None if counts is None else counts.get(tag.pk, 0)) for tag in tags_by_name()
        ],
        "choices": audience_choices(plan, tags),
        "sender": Newsletter.objects.get_current().sender,
    }
