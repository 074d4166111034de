"""The author's addresses, below /admin/newsletters/."""

from django.urls import URLPattern

app_name = "desk"
urlpatterns: list[URLPattern] = []
