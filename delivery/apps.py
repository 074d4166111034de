"""The app that delivers editions to readers."""

from django.apps import AppConfig


class DeliveryConfig(AppConfig):
    """Batches, the worker, the providers and the evidence."""

    name = "delivery"

    def ready(self) -> None:
        from delivery import check_settings  # noqa: F401
        from delivery.mail import check_templates  # noqa: F401
