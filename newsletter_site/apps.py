"""The site: where the apps are joined to one another."""

from django.apps import AppConfig


class NewsletterSiteConfig(AppConfig):
    """Joins delivery to the apps it may not import (see newsletter_site/wiring.py)."""

    name = "newsletter_site"
    verbose_name = "People"

    def ready(self) -> None:
        from newsletter_site import checks, wiring  # noqa: F401
        from newsletter_site.logs import requests
        from newsletter_site.sign_in import throttle  # noqa: F401 -- it listens to signals

        wiring.join()
        requests.connect_signals()
