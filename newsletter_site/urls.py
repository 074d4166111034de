"""Which address leads where."""

from django.contrib import admin
from django.urls import include, path

from publishing.views.home import home

urlpatterns = [
    path("admin/newsletters/", include("subscribers.desk_urls")),
    path("admin/newsletters/", include("publishing.urls")),
    path("admin/", admin.site.urls),
    path("archive/", include("publishing.archive_urls")),
    path("", include("subscribers.urls")),
    path("", include("delivery.urls")),
    path("", home, name="home"),
]
