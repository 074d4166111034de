"""The list of readers on the desk, as a page and as a file."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.conf import settings
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from delivery.reader_fields import READER_FIELDS
from subscribers.data_requests.personal_data_sentences import STATES, WAYS
from subscribers.desk import reader_list
from subscribers.desk.reader_list import ReaderFilter, SearchTookTooLongError
from subscribers.desk.readers_csv import csv_lines
from subscribers.desk_access import desk_page, may_manage_readers, user_id_of
from subscribers.fields.topics import read_tag_ids
from subscribers.files.safe_csv import csv_download
from subscribers.models import Subscriber, Tag
from subscribers.models.consent_record import How
from subscribers.reader_totals import counts_by_state
from subscribers.record_activity import record_export
from subscribers.signup import form_tags
from subscribers.signup.signup_form import embed_form_html, form_fields
from subscribers.why_suppressed import why_suppressed

TABS = ("confirmed", "pending", "unsubscribed", "bounced", "complained")


@may_manage_readers
@require_safe
def readers(request: HttpRequest) -> HttpResponse:
    """Show a page of matching readers, newest first."""
    chosen = _filter_of(request)
    counts = counts_by_state()
    before = request.GET.get("before", "")
    took_too_long = False
    suppression = reader_list.find_suppression(chosen) if "@" in chosen.text else None
    try:
        is_id = before.isdecimal() and len(before) < 19
        found, next_before = reader_list.load_page(chosen, int(before) if is_id else None)
    except SearchTookTooLongError:
        found, next_before, took_too_long = [], None, True
    return desk_page(
        request,
        "subscribers/desk/readers.html",
        {
            "rows": [(one, STATES[one.state], _source(one)) for one in found],
            "field_labels": [field.label for field in READER_FIELDS],
            "counts": counts,
            "total": sum(counts.values()),
            "tabs": _tabs(chosen, counts),
            "chosen": chosen,
            "suppression": suppression,
            "why_suppressed": suppression
            and why_suppressed(suppression.reason, suppression.origin),
            "took_too_long": took_too_long,
            "search_s": reader_list.SEARCH_S,
            "is_first": not before,
            "next": _query(chosen, before=next_before) if next_before else "",
            "query": _query(chosen),
        },
        status=503 if took_too_long else 200,
    )


@may_manage_readers
@require_safe
def readers_file(request: HttpRequest) -> StreamingHttpResponse:
    """Stream the matching readers as a CSV file."""
    chosen = _filter_of(request)
    record_export(user_id_of(request), chosen.state)
    name = f"readers-{chosen.state}" if chosen.state else "readers"
    return csv_download(csv_lines(reader_list.iter_readers(chosen)), f"{name}.csv")


@may_manage_readers
@require_safe
def embed_form(request: HttpRequest) -> HttpResponse:
    """Show the HTML of a sign-up form for another site, with the chosen tags."""
    chosen = read_tag_ids(request.GET.getlist("tag"))
    tags = [(tag, tag.pk in chosen) for tag in Tag.objects.order_by(Lower("name"))]
    ids = [tag.pk for tag, is_chosen in tags if is_chosen]
    html = embed_form_html(settings.SITE_URL, form_fields(), ids)
    query = {form_tags.NAME: form_tags.sign_tags(ids)} if ids else {}
    context = {
        "tags": tags,
        "link": settings.SITE_URL + reverse("subscribers:sign_up", query=query or None),
        "html": html,
        "lines": html.count("\n") + 1,
        "how": WAYS[How.EMBEDDED_FORM],
    }
    return desk_page(request, "subscribers/desk/embed_form.html", context)


def _source(reader: Subscriber) -> str:
    if reader.subscriber_import:
        return _("Import of {file}").format(file=reader.subscriber_import.filename)
    return _("API") if reader.source == Subscriber.Source.API else _("Sign-up")


def _filter_of(request: HttpRequest) -> ReaderFilter:
    """Read the filter; an unknown state selects all readers."""
    state = request.GET.get("state", "")
    text = request.GET.get("q", "").replace("\0", "").strip()[: reader_list.LONGEST_SEARCH]
    return ReaderFilter(state if state in Subscriber.State.values else "", text)


def _tabs(chosen: ReaderFilter, counts: Mapping[str, int]) -> list[dict[str, object]]:
    tabs = [(STATES[state].short, state, counts[state]) for state in TABS]
    return [
        {
            "words": words,
            "count": count,
            "is_here": chosen.state == state,
            "query": _query(ReaderFilter(state, chosen.text)),
        }
        for words, state, count in [*tabs, (_("All"), "", sum(counts.values()))]
    ]


def _query(chosen: ReaderFilter, *, before: int | None = None) -> str:
    parts = {"state": chosen.state, "q": chosen.text, "before": before}
    return "?" + urlencode({name: value for name, value in parts.items() if value})
