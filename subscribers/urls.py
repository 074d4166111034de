"""The URLs of the readers' pages."""

from collections.abc import Callable

from django.http import HttpResponse
from django.urls import URLPattern, path, re_path

from subscribers.data_requests import data_request_view
from subscribers.leaving.preferences_view import preferences
from subscribers.leaving.unsubscribe_view import unsubscribe
from subscribers.signup import signup_view

app_name = "subscribers"


def _damaged(page: str, view: Callable[..., HttpResponse]) -> URLPattern:
    """Match damaged URLs of a page, such as `//Record/TOKEN/)`."""
    # reverse() refuses patterns with flags, but it skips a lookahead.
    return re_path(rf"^[/]*(?=(?i:{page})/)[A-Za-z]+/+(?P<token>[\s\S]*)$", view)


urlpatterns = [
    path("subscriptions/", signup_view.subscriptions, name="sign_up"),
    path("subscriptions/embedded/", signup_view.embedded, name="embedded"),
    path("subscriptions/confirm/", signup_view.confirm, name="confirm"),
    path("record/", data_request_view.request_data, name="request_data"),
    path("unsubscribe/", data_request_view.request_data, {"leaves": True}, name="ask_to_leave"),
    path("record/<str:token>/", data_request_view.show_data, name="data"),
    path("record/<str:token>/record.json", data_request_view.download_data, name="download_data"),
    path("record/<str:token>/leave/", data_request_view.leave_here, name="leave_here"),
    path("record/<str:token>/erase/", data_request_view.erase_data, name="erase_data"),
    path("preferences/<str:token>/", preferences, name="preferences"),
    path("unsubscribe/<str:token>/", unsubscribe, name="unsubscribe"),
    # These patterns match damaged links. These patterns also match links without the last slash:
    # Django would redirect such a link, and the redirect would turn a one-click POST into a GET
    # (RFC 8058, 3.1).
    _damaged("unsubscribe", unsubscribe),
    _damaged("preferences", preferences),
    _damaged("record", data_request_view.show_data),
    re_path(r"^[/]*(?=(?i:subscriptions/+confirm)/)[\s\S]+$", signup_view.confirm),
]
