"""The list of readers on the desk, as a page and as a file."""

from collections.abc import Mapping

from django.conf import settings
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from delivery.languages import in_language_of
from delivery.models import Newsletter
from delivery.reader_fields import READER_FIELDS
from subscribers.data_requests.personal_data_sentences import STATES, WAYS
from subscribers.desk import reader_list
from subscribers.desk.many_readers.change_sentences import LABELS
from subscribers.desk.reader_filter import OF_IMPORT, ReaderFilter, read_filter, read_number
from subscribers.desk.reader_list import ReaderCount, SearchTookTooLongError
from subscribers.desk.readers_csv import csv_lines, suppression_lines
from subscribers.desk_frame import desk_page, may_manage_readers, user_id_of
from subscribers.fields.find_tags import read_tag_ids
from subscribers.files.safe_csv import csv_download
from subscribers.models import Subscriber, SubscriberImport, Tag
from subscribers.models.consent_record import How
from subscribers.reader_totals import counts_by_state
from subscribers.record_activity import record_export
from subscribers.signup.signup_form import TAGS, embed_form_html, form_fields, sign_tags
from subscribers.suppression_sentences import why_suppressed, words_of_code

IMPORTS_SHOWN = 50  # the filter offers only this number of the latest imports
SOURCES: Mapping[str, Promise] = {
    Subscriber.Source.SIGN_UP: gettext_lazy("Sign-up"),
    Subscriber.Source.DESK: gettext_lazy("Added by an author"),
    Subscriber.Source.API: gettext_lazy("API"),
    Subscriber.Source.IMPORT: gettext_lazy("Any import"),
}
SORT_WORDS: Mapping[str, Promise] = {
    reader_list.NEWEST: gettext_lazy("Last added"),
    "oldest": gettext_lazy("First added"),
    "address": gettext_lazy("Address, A to Z"),
    "address-down": gettext_lazy("Address, Z to A"),
}
TABS = ("confirmed", "pending", "unsubscribed", "bounced", "complained")


@may_manage_readers
@require_safe
def readers(request: HttpRequest) -> HttpResponse:
    """Show a page of matching readers. By default, the last added reader comes first."""
    chosen = read_filter(request.GET.dict())
    counts = counts_by_state()
    before, sort = request.GET.get("before", ""), request.GET.get("sort", "")
    sort = sort if sort in reader_list.SORTS else reader_list.NEWEST
    in_order = {"sort": sort} if sort else {}
    took_too_long = False
    suppression = reader_list.find_suppression(chosen) if "@" in chosen.text else None
    try:
        last = read_number(before, 10**18)
        found, next_before = reader_list.load_page(chosen, last, sort=sort)
        sources = _sources()
    except SearchTookTooLongError:
        found, next_before, sources, took_too_long = [], None, [*SOURCES.items()], True
    tags = list(Tag.objects.order_by(Lower("name")))
    codes = reader_list.load_suppression_codes(found)
    is_all = next_before is None and not before
    count = ReaderCount(len(found), True) if is_all else reader_list.count_readers(chosen)
    return desk_page(
        request,
        "subscribers/desk/readers.html",
        {
            # The table has no columns for the author's own fields, because there may be 20 of these
            # fields.
            "rows": [
                (
                    one,
                    [getattr(one, field.name) for field in READER_FIELDS],
                    STATES[one.state],
                    source_words(one),
                    words_of_code(codes[one.pk]) if one.pk in codes else "",
                )
                for one in found
            ],
            "field_labels": [field.label for field in READER_FIELDS],
            "counts": counts,
            "total": sum(counts.values()),
            "tabs": _tabs(chosen, counts, in_order),
            "chosen": chosen,
            "found": count,
            "tags": tags,
            "sources": sources,
            "actions": LABELS.items(),
            "suppression": suppression,
            "why_suppressed": suppression
            and why_suppressed(suppression.reason, suppression.origin),
            "took_too_long": took_too_long,
            "search_s": reader_list.SEARCH_S,
            "is_first": not before,
            "next": chosen.query(**in_order, before=next_before) if next_before else "",
            "query": chosen.query(),
            "start": chosen.query(**in_order),
            "sort": sort,
            "sorts": [
                (name, words, chosen.query(**({"sort": name} if name else {})))
                for name, words in SORT_WORDS.items()
            ],
        },
        status=503 if took_too_long else 200,
    )


@may_manage_readers
@require_safe
def readers_file(request: HttpRequest) -> StreamingHttpResponse:
    """Stream the matching readers as a CSV file."""
    chosen = read_filter(request.GET.dict())
    record_export(user_id_of(request), chosen.state)
    name = f"readers-{chosen.state}" if chosen.state else "readers"
    return csv_download(csv_lines(reader_list.iter_readers(chosen)), f"{name}.csv")


@may_manage_readers
@require_safe
def suppressed_file(request: HttpRequest) -> StreamingHttpResponse:
    """Stream all suppressed addresses, of readers and of others, as a CSV file."""
    record_export(user_id_of(request), "suppressed")
    return csv_download(suppression_lines(), "suppressed addresses.csv")


@may_manage_readers
@require_safe
def embed_form(request: HttpRequest) -> HttpResponse:
    """Show the HTML of a sign-up form for another site, with the chosen tags."""
    chosen = read_tag_ids(request.GET.getlist("tag"))
    tags = [(tag, tag.pk in chosen) for tag in Tag.objects.order_by(Lower("name"))]
    ids = [tag.pk for tag, is_chosen in tags if is_chosen]
    newsletter = Newsletter.objects.get_current()
    with in_language_of(newsletter):
        html = embed_form_html(settings.SITE_URL, newsletter.name, form_fields(), ids)
    query = {TAGS: sign_tags(ids)} if ids else {}
    context = {
        "tags": tags,
        "link": settings.SITE_URL + reverse("subscribers:sign_up", query=query or None),
        "html": html,
        "lines": html.count("\n") + 1,
        "how": WAYS[How.EMBEDDED_FORM],
        "own_sites": newsletter.own_sites.splitlines(),
    }
    return desk_page(request, "subscribers/desk/embed_form.html", context)


def source_words(reader: Subscriber) -> str:
    """Return the words for a reader's source, as the table shows them."""
    if reader.subscriber_import:
        return _("Import of {file}").format(file=reader.subscriber_import.filename)
    return str(SOURCES.get(reader.source, reader.source))


def _sources() -> list[tuple[str, Promise | str]]:
    """Return the choices of the filter by source, with the latest imports."""
    sources: list[tuple[str, Promise | str]] = [*SOURCES.items()]
    imports = SubscriberImport.objects.filter(added__gt=0).order_by("-id")[:IMPORTS_SHOWN]
    for number, file in imports.values_list("id", "filename"):
        words = _("Import {number}: {file}").format(number=number, file=file)
        sources.append((f"{OF_IMPORT}{number}", words))
    return sources


def _tabs(
    chosen: ReaderFilter, counts: Mapping[str, int], in_order: Mapping[str, str]
) -> list[dict[str, object]]:
    tabs = [(STATES[state].short, state, counts[state]) for state in TABS]
    return [
        {
            "words": words,
            "count": count,
            "is_here": chosen.state == state,
            "query": chosen._replace(state=state).query(**in_order),
        }
        for words, state, count in [*tabs, (_("All"), "", sum(counts.values()))]
    ]
