"""The app that keeps the list: who reads, who left, who may not be mailed."""

from django.apps import AppConfig


class SubscribersConfig(AppConfig):
    name = "subscribers"
