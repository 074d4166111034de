"""The app of the site, which joins the other apps."""

from django.apps import AppConfig


class NewsletterSiteConfig(AppConfig):
    name = "newsletter_site"
    verbose_name = "People"

    def ready(self) -> None:
        from newsletter_site import checks, wiring  # noqa: F401
        from newsletter_site.logs import requests  # noqa: F401 -- it listens to signals
        from newsletter_site.sign_in import throttle  # noqa: F401 -- it listens to signals

        wiring.register_hooks()
