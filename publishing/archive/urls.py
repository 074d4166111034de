"""The archive's addresses, below /archive/."""

from django.urls import path, re_path

from publishing.archive import archive_view

app_name = "archive"
urlpatterns = [
    path("", archive_view.index, name="index"),
    path("feed.xml", archive_view.feed, name="feed"),
    path("<slug:slug>/", archive_view.issue, name="issue"),
    re_path(r"^(?P<rest>.+)/$", archive_view.not_there),
]
