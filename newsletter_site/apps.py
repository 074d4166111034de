"""The Django app of the site, which connects the other apps."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class NewsletterSiteConfig(AppConfig):
    name = "newsletter_site"
    verbose_name = _("Accounts")

    def ready(self) -> None:
        from newsletter_site import check_site_settings, register_hooks_and_tasks  # noqa: F401
        from newsletter_site.authors import open_sessions  # noqa: F401 -- it connects signals
        from newsletter_site.logs import log_requests  # noqa: F401 -- the import connects signals
        from newsletter_site.sign_in import throttle  # noqa: F401 -- the import connects signals

        register_hooks_and_tasks.register_hooks()
