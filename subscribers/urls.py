"""The readers' pages, and where they are."""

from django.urls import path

from subscribers.data_requests import data_request_view
from subscribers.leaving.unsubscribe_view import Unsubscribe
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
    path("unsubscribe/<str:token>/", Unsubscribe.as_view(), name="unsubscribe"),
    # A link that lost its last slash on the way works too: a redirect would turn the one-click
    # POST of a mail program into a GET (RFC 8058, section 3.1 forbids it).
    path("unsubscribe/<str:token>", Unsubscribe.as_view()),
]
