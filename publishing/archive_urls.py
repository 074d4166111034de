"""The archive's addresses, below /archive/."""

from django.urls import path, re_path

from publishing.views import archive

app_name = "archive"
urlpatterns = [
    path("", archive.index, name="index"),
    path("feed.xml", archive.feed, name="feed"),
    path("<slug:slug>/", archive.issue, name="issue"),
    re_path(r"^(?P<rest>.+)/$", archive.not_there),
]
