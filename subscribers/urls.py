"""The readers' pages, and where they are."""

from django.urls import path

from subscribers.views import confirm, sign_up
from subscribers.views.unsubscribe import Unsubscribe

app_name = "subscribers"

urlpatterns = [
    path("subscriptions/", sign_up.subscriptions, name="sign_up"),
    path("subscriptions/embedded/", sign_up.embedded, name="embedded"),
    path("subscriptions/confirm/", confirm.confirm, name="confirm"),
    path("unsubscribe/<str:token>/", Unsubscribe.as_view(), name="unsubscribe"),
    # A link that lost its last slash on the way works too: a redirect would turn the one-click
    # POST of a mail program into a GET (RFC 8058, section 3.1 forbids it).
    path("unsubscribe/<str:token>", Unsubscribe.as_view()),
]
