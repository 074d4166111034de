"""The only place that tells Django of the sandbox, so that `manage.py sandbox` is found."""

from django.apps import AppConfig


class PostmarkSandboxConfig(AppConfig):
    """An app without models, pages or settings: it brings one management command."""

    name = "postmark_sandbox"
    verbose_name = "Postmark sandbox"
