"""Make `manage.py sandbox` known to Django."""

from django.apps import AppConfig


class PostmarkSandboxConfig(AppConfig):
    """An app without models, pages or settings."""

    name = "postmark_sandbox"
    verbose_name = "Postmark sandbox"
