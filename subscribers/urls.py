"""The readers' pages, and where they are."""

from django.urls import path

from subscribers.views import confirm, record, sign_up
from subscribers.views.unsubscribe import Unsubscribe

app_name = "subscribers"

urlpatterns = [
    path("subscriptions/", sign_up.subscriptions, name="sign_up"),
    path("subscriptions/embedded/", sign_up.embedded, name="embedded"),
    path("subscriptions/confirm/", confirm.confirm, name="confirm"),
    path("record/", record.ask_for_record, name="ask_for_record"),
    path("unsubscribe/", record.ask_for_record, {"leaves": True}, name="ask_to_leave"),
    path("record/<str:token>/", record.show_record, name="record"),
    path("record/<str:token>/record.json", record.download_record, name="download_record"),
    path("record/<str:token>/leave/", record.leave_from_record, name="leave_from_record"),
    path("record/<str:token>/erase/", record.erase_record, name="erase_record"),
    path("unsubscribe/<str:token>/", Unsubscribe.as_view(), name="unsubscribe"),
    # A link that lost its last slash on the way works too: a redirect would turn the one-click
    # POST of a mail program into a GET (RFC 8058, section 3.1 forbids it).
    path("unsubscribe/<str:token>", Unsubscribe.as_view()),
]
