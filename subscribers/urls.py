"""The readers' pages, and where they are."""

from django.urls import path

from subscribers.data_requests import data_request_view
from subscribers.leaving.unsubscribe_view import unsubscribe
from subscribers.signup import confirm_view, signup_view

app_name = "subscribers"

urlpatterns = [
    path("subscriptions/", signup_view.subscriptions, name="sign_up"),
    path("subscriptions/embedded/", signup_view.embedded, name="embedded"),
    path("subscriptions/confirm/", confirm_view.confirm, name="confirm"),
    path("record/", data_request_view.ask_for_record, name="ask_for_record"),
    path("unsubscribe/", data_request_view.ask_for_record, {"leaves": True}, name="ask_to_leave"),
    path("record/<str:token>/", data_request_view.show_record, name="record"),
    path(
        "record/<str:token>/record.json", data_request_view.download_record, name="download_record"
    ),
    path(
        "record/<str:token>/leave/", data_request_view.leave_from_record, name="leave_from_record"
    ),
    path("record/<str:token>/erase/", data_request_view.erase_record, name="erase_record"),
    path("unsubscribe/<str:token>/", unsubscribe, name="unsubscribe"),
    # Without the last slash too: a redirect would turn a one-click POST into a GET (RFC 8058, 3.1).
    path("unsubscribe/<str:token>", unsubscribe),
]
