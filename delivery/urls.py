"""The URL of the provider's webhooks."""

from django.urls import path

from delivery.feedback.webhook_view import ProviderWebhook

app_name = "delivery"

urlpatterns = [
    path("webhooks/<slug:path>/", ProviderWebhook.as_view(), name="webhook"),
    # The path also works without the trailing slash: a redirect could turn the POST into a GET.
    path("webhooks/<slug:path>", ProviderWebhook.as_view()),
]
