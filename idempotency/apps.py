"""The app's entry in Django's registry."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class IdempotencyConfig(AppConfig):
    name = "idempotency"
    verbose_name = _("Posted forms")

    def ready(self) -> None:
        from idempotency import isolation  # noqa: F401  (importing registers the check)
