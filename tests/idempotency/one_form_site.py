"""A site with one form that is safe to retry: an author has a leaflet printed.

Each piece of work leaves a row in the table `leaflet`, so a test can count the pieces. A test can
add an action during the work (`during_work`).
"""

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.urls import path

from idempotency.key import fresh_key
from idempotency.safe_to_retry import DifferentContentError, safe_to_retry

# The number of the advisory lock that is gate 0. Gate 1 is the lock with the next number. While a
# test holds the lock of a gate, the work waits at this gate.
FIRST_GATE = 7_301

# The smallest set of middleware that forms need.
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]

TABLE = """
    CREATE TABLE leaflet (
        author_id uuid, key text, title text, text text,
        UNIQUE (author_id, key)
    )
"""


def _nothing(request: HttpRequest) -> HttpResponse | None:
    return None


during_work: Callable[[HttpRequest], HttpResponse | None] = _nothing


def wait_at_the_gate(request: HttpRequest, number: int = 0) -> None:
    """Wait in the database while a test keeps this gate closed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [FIRST_GATE + number])


def titles() -> list[str]:
    """Return the title of every leaflet that was printed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT title FROM leaflet ORDER BY title")
        return [title for (title,) in cursor.fetchall()]


class LeafletForm(forms.Form):
    title = forms.CharField(max_length=100)
    text = forms.CharField(required=False)
    picture = forms.FileField(required=False)


def _page(request: HttpRequest, form: LeafletForm, key: str) -> HttpResponse:
    return JsonResponse({"form": form.data, "errors": form.errors, "key": key})


def _other_content(request: HttpRequest, form: LeafletForm, key: str) -> HttpResponse:
    return JsonResponse({"form": form.data, "used": key, "key": fresh_key()})


def _bad_key(request: HttpRequest, reason: str) -> HttpResponse:
    return HttpResponse(reason)


@safe_to_retry(
    form=LeafletForm,
    fields=("title", "text", "picture"),
    show_form=_page,
    different_content=_other_content,
    in_progress=_page,
    invalid_key=_bad_key,
)
def print_leaflet(request: HttpRequest, form: LeafletForm, key: str, **where: str) -> HttpResponse:
    """Print a leaflet once for each author and key."""
    content = (form.cleaned_data["title"], form.cleaned_data["text"])
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT title, text FROM leaflet WHERE author_id = %s AND key = %s",
            [request.user.pk, key],
        )
        printed = cursor.fetchone()
        if printed is None:
            cursor.execute(
                "INSERT INTO leaflet VALUES (%s, %s, %s, %s)", [request.user.pk, key, *content]
            )
        elif printed != content:
            raise DifferentContentError
    messages.success(request, "The leaflet is printed.", extra_tags="paper")
    answer = during_work(request)
    if answer is not None:
        return answer
    response = HttpResponse(
        "Grüße".encode("latin-1"),
        status=303,
        content_type="text/plain; charset=latin-1",
        headers={
            "Location": "/printed/",
            "Link": "</a>; rel=next, </b>; rel=prev",
            "X-Leaflet": key,
        },
    )
    response.set_cookie("printed", "yes")
    return response


def quietly(request: HttpRequest) -> HttpResponse:
    """Print a leaflet after setting the message level and reading the CSRF token."""
    messages.set_level(request, messages.WARNING)
    get_token(request)
    return print_leaflet(request)


def printed(request: HttpRequest) -> HttpResponse:
    """Show the author's messages, as the next page of a real site would."""
    shown = [
        [message.level, str(message), message.tags] for message in messages.get_messages(request)
    ]
    return JsonResponse({"messages": shown})


urlpatterns = [
    path("leaflets/", login_required(print_leaflet)),
    path("leaflets/quietly/", quietly),
    path("leaflets/<slug:shop>/", login_required(print_leaflet)),
    path("unguarded/", print_leaflet),
    path("printed/", printed),
]
