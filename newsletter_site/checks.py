"""System checks of the site: a wrong configuration is said before the first mail, not after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Advice


@register("homing")
def one_newsletter_address(**kwargs: Any) -> Iterable[CheckMessage]:
    """Links in mail must lead to a host that this site answers for."""
    host = urlsplit(settings.SITE_URL).hostname or ""
    allowed = settings.ALLOWED_HOSTS
    if "*" not in allowed and not any(
        host == name or (name.startswith(".") and host.endswith(name)) for name in allowed
    ):
        yield Error(
            f"SITE_URL names the host {host!r}, which is not among ALLOWED_HOSTS {allowed!r}.",
            hint="Links in mail would be refused. Add the host to ALLOWED_HOSTS.",
            id="homing.E001",
        )


@register("homing", deploy=True)
def webhooks_can_come_in(**kwargs: Any) -> Iterable[CheckMessage]:
    """Half a credential is a mistake; none means that webhooks are refused."""
    if bool(settings.POSTMARK_WEBHOOK_USER) != bool(settings.POSTMARK_WEBHOOK_PASSWORD):
        yield Advice(
            "Only one of POSTMARK_WEBHOOK_USER and POSTMARK_WEBHOOK_PASSWORD is set.",
            hint="Set both, or neither; with one of them every webhook is refused.",
            id="homing.W001",
        )


@register("homing", deploy=True)
def static_files_are_collected(**kwargs: Any) -> Iterable[CheckMessage]:
    """Without it every page works, and every browser asks for its style sheet again."""
    if not getattr(staticfiles_storage, "is_collected", True):
        yield Advice(
            f"No static files are collected in STATIC_ROOT ({settings.STATIC_ROOT}).",
            hint="Run ./homing collectstatic --noinput, so that browsers may keep them.",
            id="homing.W002",
        )
