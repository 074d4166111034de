"""System checks of the site's configuration and tables."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.checks import CheckMessage, Error, Info, Tags, register
from django.core.checks import Warning as Advice
from django.db import DatabaseError, connections
from django.db.migrations.loader import MigrationLoader
from django.http.request import validate_host

from delivery.check_settings import log_findings
from delivery.interface import capabilities, provider_class
from delivery.models import Newsletter
from newsletter_site.environment import host_of

logger = logging.getLogger(__name__)

MIN_SECRET_LENGTH = 16


@register("homing")
def check_site_host(**kwargs: Any) -> Iterable[CheckMessage]:
    """Check that links in mail lead to a host that this site accepts."""
    host, allowed = host_of(settings.SITE_URL), settings.ALLOWED_HOSTS
    if not validate_host(host, allowed):
        yield Error(
            f"The host of SITE_URL, {host!r}, is not among ALLOWED_HOSTS {allowed!r}.",
            hint="The site would refuse links in mail. Add the host to ALLOWED_HOSTS.",
            id="homing.E001",
        )


@register("homing")
def check_database_is_named(**kwargs: Any) -> Iterable[CheckMessage]:
    """Report that the embedded database is used because DATABASE_URL is not set."""
    if not settings.DEBUG and not settings.DATABASE_IS_NAMED:
        yield Info(
            "DATABASE_URL is not set, so this site uses the embedded PostgreSQL in "
            f"{settings.HOMING_DATA_DIR}.",
            hint="Set DATABASE_URL if the readers of this site are in another database.",
            id="homing.I002",
        )


@register("homing")
def check_spelling_of_variables(**kwargs: Any) -> Iterable[CheckMessage]:
    """Name variables that look misspelt, but not their values, which may be secret."""
    for name, nearest in settings.MISSPELT_VARIABLES.items():
        yield Advice(
            f"The variable {name} is set and has no effect: Homing has none of this name.",
            hint=f"Did you mean {nearest}? docs/configuration.md lists every variable.",
            id="homing.W007",
        )


@register(Tags.database)
def check_tables_are_released(
    databases: Sequence[str] | None = None, **kwargs: Any
) -> Iterable[CheckMessage]:
    """Refuse a database of an unreleased version of Homing.

    In a database of an unreleased version, an app has tables, but not the first migrations of this
    code.

    A database of a later release is not refused, because it also contains the first migrations of
    this release.
    """
    for alias in databases or ():
        try:
            loader = MigrationLoader(connections[alias])
        except DatabaseError:
            continue  # the check delivery.I001 already reports that migrations are missing
        for app in settings.OUR_APPS:
            applied = {name for label, name in loader.applied_migrations if label == app}
            first = {name for _, name in loader.graph.root_nodes(app)}
            if applied and not applied & first:
                yield Error(
                    "The tables of this database are from an unreleased version of Homing "
                    f"({app}.{max(applied)}), which cannot be upgraded.",
                    hint=(
                        "Use an empty database, or continue with the version that made the tables."
                    ),
                    id="homing.E002",
                )


@register("homing", deploy=True)
def check_deployment(**kwargs: Any) -> Iterable[CheckMessage]:
    """Check the settings that matter for a site with real readers."""
    can = capabilities()
    login = can.login_settings if can.path else ()
    if login and not provider_class().webhook_login():
        names = " and ".join(login)
        yield Advice(
            f"Webhooks are refused, because there is no user and password in {names}.",
            hint=f"Set a user and a password, and use both in the webhook at {can.name}.",
            id="homing.W001",
        )
    if not getattr(staticfiles_storage, "is_collected", True):
        yield Advice(
            f"STATIC_ROOT ({settings.STATIC_ROOT}) has no collected static files.",
            hint="Run ./homing collectstatic --noinput, so that browsers can cache them.",
            id="homing.W002",
        )
    if not (settings.SENDER_IS_NAMED or _has_sender()):
        yield Advice(
            f"FROM_EMAIL is not set, so the sender would be {settings.FROM_EMAIL!r}.",
            hint=(
                f"Set it to a sender that is confirmed at {can.name}, or choose one under Settings."
            ),
            id="homing.W003",
        )
    if not settings.DEBUG and not settings.TRUST_PROXY:
        yield Advice(
            "TRUST_PROXY is off. Behind a proxy, every page would redirect to https without end.",
            hint="If your proxy sets X-Forwarded-Proto and X-Forwarded-For, set it to on.",
            id="homing.W004",
        )
    if path := urlsplit(settings.SITE_URL).path:
        yield Advice(
            f"SITE_URL has the path {path!r}, so links in mail would not work.",
            hint="The site works only at the root of a host. Use a separate host name.",
            id="homing.W005",
        )
    for name in ("METRICS_TOKEN", *login[-1:]):
        length = len(getattr(settings, name))
        if 0 < length < MIN_SECRET_LENGTH:
            yield Advice(
                f"{name} has only {length} characters, so it can be guessed.",
                hint=f"Use at least {MIN_SECRET_LENGTH} random characters.",
                id="homing.W006",
            )
    if settings.TRUST_PROXY and not settings.METRICS_TOKEN:
        yield Info(
            "METRICS_TOKEN is not set, so /metrics answers only programs on this machine.",
            hint="Set it if Prometheus uses the proxy or runs in another container.",
            id="homing.I001",
        )


def log_start() -> None:
    """Log which release the site runs, and what the checks of its settings find."""
    logger.info("The site runs Homing %s.", str(settings.RELEASE))
    log_findings()


def _has_sender() -> bool:
    """Return whether an author chose a sender. Without a database, return False."""
    try:
        return Newsletter.objects.exclude(sender_address="").exists()
    except DatabaseError:
        return False
