"""System checks of the site's configuration."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.checks import CheckMessage, Error, Info, register
from django.core.checks import Warning as Advice
from django.http.request import validate_host

from newsletter_site.environment import host_of

MIN_SECRET_LENGTH = 16


@register("homing")
def check_site_host(**kwargs: Any) -> Iterable[CheckMessage]:
    """Links in mail must lead to a host that this site answers for."""
    host, allowed = host_of(settings.SITE_URL), settings.ALLOWED_HOSTS
    if not validate_host(host, allowed):
        yield Error(
            f"SITE_URL names the host {host!r}, which is not among ALLOWED_HOSTS {allowed!r}.",
            hint="Links in mail would be refused. Add the host to ALLOWED_HOSTS.",
            id="homing.E001",
        )


@register("homing")
def check_database_is_named(**kwargs: Any) -> Iterable[CheckMessage]:
    """A mistyped DATABASE_URL would begin an empty site, so every command names the database."""
    if not settings.DEBUG and not settings.DATABASE_IS_NAMED:
        yield Info(
            "DATABASE_URL is not set, so this site uses a PostgreSQL that Homing keeps in "
            f"{settings.HOMING_DATA_DIR}.",
            hint="Set DATABASE_URL if the readers of this site are in a server of your own.",
            id="homing.I002",
        )


@register("homing", deploy=True)
def check_deployment(**kwargs: Any) -> Iterable[CheckMessage]:
    """Settings that a site for real readers should have."""
    if not settings.POSTMARK_WEBHOOK_USER and not settings.POSTMARK_WEBHOOK_PASSWORD:
        yield Advice(
            "Webhooks are refused: POSTMARK_WEBHOOK_USER and POSTMARK_WEBHOOK_PASSWORD are unset.",
            hint="Set both, and name them in the address of the webhook at Postmark.",
            id="homing.W001",
        )
    if not getattr(staticfiles_storage, "is_collected", True):
        yield Advice(
            f"No static files are collected in STATIC_ROOT ({settings.STATIC_ROOT}).",
            hint="Run ./homing collectstatic --noinput, so that browsers may keep them.",
            id="homing.W002",
        )
    if not settings.SENDER_IS_NAMED:
        yield Advice(
            f"FROM_EMAIL is not set, so letters would be from {settings.FROM_EMAIL!r}.",
            hint="Set it to a sender that Postmark knows.",
            id="homing.W003",
        )
    if not settings.DEBUG and not settings.TRUST_PROXY:
        yield Advice(
            "TRUST_PROXY is off, so every page redirects to https, even if it was requested so.",
            hint="Behind a proxy that sets X-Forwarded-Proto and X-Forwarded-For, set it to on.",
            id="homing.W004",
        )
    if path := urlsplit(settings.SITE_URL).path:
        yield Advice(
            f"SITE_URL has a path, {path!r}, and every link in mail would begin with it.",
            hint="The site answers at the root of a host: give it a name of its own.",
            id="homing.W005",
        )
    for name in ("METRICS_TOKEN", "POSTMARK_WEBHOOK_PASSWORD"):
        length = len(getattr(settings, name))
        if 0 < length < MIN_SECRET_LENGTH:
            yield Advice(
                f"{name} has {length} characters, so it can be guessed.",
                hint=f"Use at least {MIN_SECRET_LENGTH}, drawn at random.",
                id="homing.W006",
            )
    if settings.TRUST_PROXY and not settings.METRICS_TOKEN:
        yield Info(
            "METRICS_TOKEN is not set, so /metrics answers only programs on the site's machine.",
            hint="Set it if Prometheus comes through the proxy, or from another container.",
            id="homing.I001",
        )
