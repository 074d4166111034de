"""The URLs of the readers' pages."""

from django.urls import path

from subscribers.data_requests import data_request_view
from subscribers.leaving.preferences_view import preferences
from subscribers.leaving.unsubscribe_view import unsubscribe
from subscribers.signup import confirm_view, signup_view

app_name = "subscribers"

urlpatterns = [
    path("subscriptions/", signup_view.subscriptions, name="sign_up"),
    path("subscriptions/embedded/", signup_view.embedded, name="embedded"),
    path("subscriptions/confirm/", confirm_view.confirm, name="confirm"),
    path("record/", data_request_view.request_data, name="request_data"),
    path("unsubscribe/", data_request_view.request_data, {"leaves": True}, name="ask_to_leave"),
    path("record/<str:token>/", data_request_view.show_data, name="data"),
    path("record/<str:token>/record.json", data_request_view.download_data, name="download_data"),
    path("record/<str:token>/leave/", data_request_view.leave_here, name="leave_here"),
    path("record/<str:token>/erase/", data_request_view.erase_data, name="erase_data"),
    path("preferences/<str:token>/", preferences, name="preferences"),
    path("unsubscribe/<str:token>/", unsubscribe, name="unsubscribe"),
    # Without the last slash too: a redirect would turn a one-click POST into a GET (RFC 8058, 3.1).
    path("unsubscribe/<str:token>", unsubscribe),
]
