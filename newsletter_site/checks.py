"""System checks of the site: a wrong configuration is said before the first mail, not after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.checks import CheckMessage, Error, Info, register
from django.core.checks import Warning as Advice
from django.http.request import validate_host

from newsletter_site.environment import host_of

# Shorter ones are guessed, or are words somebody knows: whoever has one of them speaks as Postmark,
# or reads how the site does.
LEAST_CHARACTERS = 16


@register("homing")
def one_newsletter_address(**kwargs: Any) -> Iterable[CheckMessage]:
    """Links in mail must lead to a host that this site answers for."""
    host = host_of(settings.SITE_URL)
    allowed = settings.ALLOWED_HOSTS
    if not validate_host(host, allowed):
        yield Error(
            f"SITE_URL names the host {host!r}, which is not among ALLOWED_HOSTS {allowed!r}.",
            hint="Links in mail would be refused. Add the host to ALLOWED_HOSTS.",
            id="homing.E001",
        )


@register("homing")
def the_database_is_named(**kwargs: Any) -> Iterable[CheckMessage]:
    """A mistyped DATABASE_URL would begin an empty site; so every command says where it stands."""
    if not settings.DEBUG and not settings.DATABASE_IS_NAMED:
        yield Info(
            "DATABASE_URL is not set, so this site stands in a PostgreSQL that Homing keeps in "
            f"{settings.HOMING_DATA_DIR}.",
            hint="Set DATABASE_URL where the readers of this site are in a server of your own.",
            id="homing.I002",
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


@register("homing", deploy=True)
def the_letter_is_from_somebody(**kwargs: Any) -> Iterable[CheckMessage]:
    """The example that stands in for a sender is nobody's, and Postmark takes nothing from it."""
    if not settings.SENDER_IS_NAMED:
        yield Advice(
            f"FROM_EMAIL is not set, so letters would be from {settings.FROM_EMAIL!r}.",
            hint="Set it to a sender that Postmark knows.",
            id="homing.W003",
        )


@register("homing", deploy=True)
def the_provider_can_tell_us(**kwargs: Any) -> Iterable[CheckMessage]:
    """Without webhooks bounces and complaints are asked for once an hour, and come late."""
    if not settings.POSTMARK_WEBHOOK_USER and not settings.POSTMARK_WEBHOOK_PASSWORD:
        yield Advice(
            "Webhooks are refused: POSTMARK_WEBHOOK_USER and POSTMARK_WEBHOOK_PASSWORD are unset.",
            hint="Set both, and name them in the address of the webhook at Postmark.",
            id="homing.W001",
        )


@register("homing", deploy=True)
def the_proxy_is_believed(**kwargs: Any) -> Iterable[CheckMessage]:
    """The site speaks no TLS itself: a page that was asked for by https came through a proxy."""
    if not settings.DEBUG and not settings.TRUST_PROXY:
        yield Advice(
            "TRUST_PROXY is off, so every page leads to https, also when it was asked for by that.",
            hint="Behind a proxy that sets X-Forwarded-Proto and X-Forwarded-For, set it to on.",
            id="homing.W004",
        )


@register("homing", deploy=True)
def the_site_is_the_whole_host(**kwargs: Any) -> Iterable[CheckMessage]:
    """Pages stand at the root of their host, so links with something in between lead nowhere."""
    path = urlsplit(settings.SITE_URL).path
    if path:
        yield Advice(
            f"SITE_URL has a path, {path!r}, and every link in mail would begin with it.",
            hint="The site answers at the root of a host: give it a name of its own.",
            id="homing.W005",
        )


@register("homing", deploy=True)
def secrets_cannot_be_guessed(**kwargs: Any) -> Iterable[CheckMessage]:
    """They are all that tells a collector from anybody, and the provider from anybody."""
    for name in ("METRICS_TOKEN", "POSTMARK_WEBHOOK_PASSWORD"):
        length = len(getattr(settings, name))
        if 0 < length < LEAST_CHARACTERS:
            yield Advice(
                f"{name} has {length} characters, so it can be guessed.",
                hint=f"Use at least {LEAST_CHARACTERS}, drawn at random.",
                id="homing.W006",
            )


@register("homing", deploy=True)
def somebody_may_measure(**kwargs: Any) -> Iterable[CheckMessage]:
    """Without a token nobody behind the proxy may, which is right where the collector is not."""
    if settings.TRUST_PROXY and not settings.METRICS_TOKEN:
        yield Info(
            "METRICS_TOKEN is not set, so /metrics answers programs on the site's machine alone.",
            hint="Set it where Prometheus comes through the proxy, or from another container.",
            id="homing.I001",
        )
