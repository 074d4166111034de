"""The archive, below /archive/."""

from django.urls import URLPattern

app_name = "archive"
urlpatterns: list[URLPattern] = []
