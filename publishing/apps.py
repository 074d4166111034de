"""The app of issues, editions, publishing, the desk and the archive."""

from django.apps import AppConfig


class PublishingConfig(AppConfig):
    """Configuration of the publishing app."""

    name = "publishing"
