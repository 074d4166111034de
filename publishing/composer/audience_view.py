"""The number of readers of a choice, while an author makes it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from delivery.models import Newsletter
from publishing.desk_access import may_write
from publishing.drafts.draft_form import parse_draft_fields
from publishing.editions.edition_name import parse_issue_id
from publishing.editions.posted_tags import choice_of, words_of
from publishing.editions.versions import plan_version
from subscribers.confirmed_readers import confirmed


@may_write
@require_safe
def count_audience(request: HttpRequest) -> HttpResponse:
    """Show how many readers the form's fields choose now, as a part of the page."""
    fields = parse_draft_fields(words_of(request.GET))
    tags = choice_of(fields.with_tags, fields.without_tags)
    try:
        plan = plan_version(parse_issue_id(request.GET.get("issue", "")), tags=tags)
    except ValueError:
        plan = None
    if plan:
        readers = plan.readers_of(fields.goes_to)
    else:
        readers = confirmed(with_tags=tags.with_ids, without_tags=tags.without_ids).count()
    context = {
        "goes_to": fields.goes_to,
        "with_tags": fields.with_tags,
        "without_tags": fields.without_tags,
        "plan": plan,
        "readers": readers,
        "sender": Newsletter.objects.get_current().sender,
    }
    page = render(request, "publishing/readers_now.html", context)
    page["Cache-Control"] = "no-store"
    return page
