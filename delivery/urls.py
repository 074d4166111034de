"""The URLs of the provider's webhooks.

A path also works without the trailing slash: a redirect could turn the POST into a GET.
"""

from django.urls import path

from delivery.feedback.webhook_view import ProviderWebhook

app_name = "delivery"

_view = ProviderWebhook.as_view()
# Logs and metrics name the pattern of a request, and this address has a pattern of its own.
_POSTMARK = {"path": "postmark"}

urlpatterns = [
    path("webhooks/postmark/", _view, _POSTMARK),
    path("webhooks/postmark", _view, _POSTMARK),
    path("webhooks/<slug:path>/", _view, name="webhook"),
    path("webhooks/<slug:path>", _view),
]
