"""The URLs of the archive, below /archive/."""

from django.urls import path

from publishing.archive import public_pages

app_name = "archive"
urlpatterns = [
    path("", public_pages.index, name="index"),
    path("feed.xml", public_pages.feed, name="feed"),
    path("<slug:slug>/", public_pages.issue, name="issue"),
]
