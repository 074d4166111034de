"""The URL of the provider's webhooks."""

from django.urls import path

from delivery.feedback.webhook_view import PostmarkWebhook

app_name = "delivery"

urlpatterns = [
    path("webhooks/postmark/", PostmarkWebhook.as_view(), name="webhook"),
    # Also without the trailing slash, because a redirect could turn the POST into a GET.
    path("webhooks/postmark", PostmarkWebhook.as_view()),
]
