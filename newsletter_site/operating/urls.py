"""The addresses for operators' machines. `doors.py` answers them before anything else does."""

from django.urls import path

from newsletter_site.operating import metrics_view, probe_views

urlpatterns = [
    path("health/live/", probe_views.live, name="health_live"),
    path("health/ready/", probe_views.ready, name="health_ready"),
    path("health/workers/", probe_views.workers, name="health_workers"),
    path("metrics", metrics_view.metrics, name="metrics"),
]
