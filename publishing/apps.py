"""The app with the author's side: issues, editions, publishing, the desk, the archive."""

from django.apps import AppConfig


class PublishingConfig(AppConfig):
    """Issues and how they are published."""

    name = "publishing"
