"""The Django app of the list: readers, unsubscribes and suppressions."""

from django.apps import AppConfig


class SubscribersConfig(AppConfig):
    name = "subscribers"
