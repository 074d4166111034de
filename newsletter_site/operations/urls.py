"""The URLs of health checks and metrics, which `ops_middleware.py` answers."""

from django.urls import path

from newsletter_site.operations.health.health_checks import CHECKS, health
from newsletter_site.operations.metrics.metrics_view import metrics

urlpatterns = [
    *(path(f"health/{check}/", health, {"check": check}, f"health_{check}") for check in CHECKS),
    path("metrics", metrics, name="metrics"),
]
