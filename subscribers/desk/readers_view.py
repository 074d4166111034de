"""The list of readers on the desk, as a page and as a file."""

from collections.abc import Mapping, Sequence

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
from subscribers.data_requests.personal_data_sentences import STATES, WAYS
from subscribers.desk import reader_list
from subscribers.desk.many_readers.change_sentences import LABELS
from subscribers.desk.reader_filter import ReaderFilter, read_filter, read_number
from subscribers.desk.reader_list import SearchTookTooLongError
from subscribers.desk.reader_order import NEWEST, ORDERS, Place
from subscribers.desk.readers_csv import csv_lines, suppression_lines
from subscribers.desk.saved_filters import load_saved_filters
from subscribers.desk_frame import desk_page, may_manage_readers, user_id_of
from subscribers.fields.find_tags import read_tag_ids
from subscribers.files.safe_csv import csv_download
from subscribers.models import Subscriber, SubscriberImport, Tag
from subscribers.models.consent_record import How
from subscribers.models.saved_filter import IMPORT_SOURCE
from subscribers.reader_totals import counts_by_state
from subscribers.record_activity import record_export
from subscribers.signup.signup_form import TAGS, embed_form_html, sign_tags
from subscribers.suppression_sentences import why_suppressed, words_of_code

IMPORTS_SHOWN = 50  # the filter offers only this number of the latest imports
SOURCES: Mapping[str, Promise] = {
    Subscriber.Source.SIGN_UP: gettext_lazy("Sign-up"),
    Subscriber.Source.DESK: gettext_lazy("Added by an author"),
    Subscriber.Source.API: gettext_lazy("API"),
    Subscriber.Source.IMPORT: gettext_lazy("Any import"),
}
# On a narrow page, these links replace the links in the heads of hidden columns.
SORT_WORDS: Mapping[str, Promise] = {
    NEWEST: gettext_lazy("Last added"),
    "oldest": gettext_lazy("First added"),
    "address": gettext_lazy("Address"),
    "name": gettext_lazy("Name"),
    "state": gettext_lazy("State"),
}
# For each column that the list can be sorted by: its orders. A link chooses the first of these
# orders, or the other one if the list has the first.
SORTS_OF_COLUMN: Mapping[str, tuple[str, str]] = {
    "address": ("address", "address-down"),
    "name": ("name", "name-down"),
    "state": ("state", "state-down"),
    "added": (NEWEST, "oldest"),
}
TAGS_SHOWN = 3
TABS = ("confirmed", "pending", "unsubscribed", "bounced", "complained")


@may_manage_readers
@require_safe
def readers(request: HttpRequest) -> HttpResponse:
    """Show a page of matching readers. By default, the last added reader comes first."""
    chosen = read_filter(request.GET.dict())
    totals = counts_by_state()
    before, sort = read_number(request.GET.get("before", ""), 10**18), request.GET.get("sort", "")
    after = None if before is None else Place(before, _state(request.GET.get("at", "")))
    sort = sort if sort in ORDERS else NEWEST
    in_order = {"sort": sort} if sort else {}
    took_too_long = False
    suppression = reader_list.find_suppression(chosen) if "@" in chosen.text else None
    try:
        found, last = reader_list.load_page(chosen, after, sort=sort)
        sources = _sources()
    except SearchTookTooLongError:
        found, last, sources, took_too_long = [], None, [*SOURCES.items()], True
    tags = list(Tag.objects.order_by(Lower("name")))
    codes = reader_list.load_suppression_codes(found)
    counts: Mapping[str, int] | None = totals
    if not chosen.is_state_only:
        counts = None if took_too_long else reader_list.count_by_state(chosen)
    saved = load_saved_filters()
    next_page = {"before": last.reader, "at": last.state} if last else {}
    return desk_page(
        request,
        "subscribers/desk/readers.html",
        {
            # The table has no columns for the author's own fields, because there may be 20 of these
            # fields.
            "rows": [
                (
                    one,
                    STATES[one.state],
                    source_words(one),
                    words_of_code(codes[one.pk]) if one.pk in codes else "",
                    _tag_names(one.tags, tags),
                )
                for one in found
            ],
            "totals": totals,
            "total": sum(totals.values()),
            "tabs": _tabs(chosen, counts, in_order),
            "chosen": chosen,
            "is_counted": counts is not None,
            "found": counts and _number(counts, chosen.state),
            "saved": saved,
            "saved_here": next((one for one in saved if one.chosen == chosen), None),
            "new_name": request.GET.get("name", ""),
            "tags": tags,
            "sources": sources,
            "actions": LABELS.items(),
            "suppression": suppression,
            "why_suppressed": suppression
            and why_suppressed(suppression.reason, suppression.origin),
            "took_too_long": took_too_long,
            "search_s": reader_list.SEARCH_S,
            "is_first": after is None,
            "next": chosen.query(**in_order, **next_page) if last else "",
            "query": chosen.query(),
            "start": chosen.query(**in_order),
            "sort": sort,
            "sorts": [(name, words, _sorted(chosen, name)) for name, words in SORT_WORDS.items()],
            "heads": {
                name: _head(chosen, sort, orders) for name, orders in SORTS_OF_COLUMN.items()
            },
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
        html = embed_form_html(settings.SITE_URL, newsletter.name, ids)
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
        sources.append((f"{IMPORT_SOURCE}{number}", words))
    return sources


def _tabs(
    chosen: ReaderFilter, counts: Mapping[str, int] | None, in_order: Mapping[str, str]
) -> list[dict[str, object]]:
    return [
        {
            "words": words,
            "count": counts and _number(counts, state),
            "is_here": chosen.state == state,
            "query": chosen._replace(state=state).query(**in_order),
        }
        for words, state in [*((STATES[state].short, state) for state in TABS), (_("All"), "")]
    ]


def _number(counts: Mapping[str, int], state: str) -> int:
    return counts[state] if state else sum(counts.values())


def _state(text: str) -> str:
    return text if text in Subscriber.State.values else ""


def _sorted(chosen: ReaderFilter, sort: str) -> str:
    """Return the query of the filtered list in this order."""
    return chosen.query(**({"sort": sort} if sort else {}))


def _head(chosen: ReaderFilter, sort: str, orders: tuple[str, str]) -> dict[str, str]:
    """Return the link in the head of a column, and the column's present order."""
    first, second = orders
    aria = ("descending" if ORDERS[sort].is_down else "ascending") if sort in orders else ""
    return {"query": _sorted(chosen, second if sort == first else first), "aria": aria}


def _tag_names(ids: Sequence[int], tags: Sequence[Tag]) -> tuple[list[str], int]:
    """Return the names of some of a reader's tags, and the number of the other tags."""
    names = [tag.name for tag in tags if tag.pk in ids]
    return names[:TAGS_SHOWN], len(names[TAGS_SHOWN:])
