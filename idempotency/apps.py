"""The app's entry in Django's registry."""

from django.apps import AppConfig


class IdempotencyConfig(AppConfig):
    name = "idempotency"
    verbose_name = "Posted forms"

    def ready(self) -> None:
        from idempotency import isolation  # noqa: F401  (importing registers the check)
