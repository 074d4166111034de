"""The URLs for operators' machines. `ops_middleware.py` answers them before all else."""

from django.urls import path

from newsletter_site.operations.health import health_views
from newsletter_site.operations.metrics import metrics_view

urlpatterns = [
    path("health/live/", health_views.live, name="health_live"),
    path("health/ready/", health_views.ready, name="health_ready"),
    path("health/workers/", health_views.workers, name="health_workers"),
    path("metrics", metrics_view.metrics, name="metrics"),
]
