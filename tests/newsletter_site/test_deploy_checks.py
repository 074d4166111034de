"""Warnings of `check --deploy` about settings that work but are unsafe."""

from typing import Any

import pytest
from django.core.checks import run_checks

from delivery.models import Newsletter

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def good_settings(settings: Any) -> Any:
    """Set values that pass every check but homing.W002 (no static files collected)."""
    settings.MISSPELT_VARIABLES = {}
    settings.SENDER_IS_NAMED = True
    settings.DATABASE_IS_NAMED = True
    settings.TRUST_PROXY = True
    settings.POSTMARK_WEBHOOK_USER = "postmark"
    settings.POSTMARK_WEBHOOK_PASSWORD = "sixteen-letters-"
    settings.METRICS_TOKEN = "and-sixteen-more"
    return settings


def reported() -> set[str]:
    found = run_checks(tags=["homing"], include_deployment_checks=True)
    return {str(one.id) for one in found} - {"homing.W002"}


@pytest.mark.parametrize(
    ("name", "value", "id_"),
    [
        ("SENDER_IS_NAMED", False, "homing.W003"),
        ("MISSPELT_VARIABLES", {"DELIVERY_RATE": "DELIVERY_RATE_PER_S"}, "homing.W007"),
        ("TRUST_PROXY", False, "homing.W004"),
        ("SITE_URL", "https://letter.example.org/news", "homing.W005"),
        ("METRICS_TOKEN", "fifteen-letters", "homing.W006"),
        ("METRICS_TOKEN", "", "homing.I001"),
        ("POSTMARK_WEBHOOK_PASSWORD", "fifteen-letters", "homing.W006"),
        ("ALLOWED_HOSTS", ["elsewhere.example.org"], "homing.E001"),
        ("ALLOWED_HOSTS", [".letter.example.org.evil.example"], "homing.E001"),
        ("SITE_URL", "https://[2001:db8::2]", "homing.E001"),
    ],
)
def test_risky_settings_are_reported(settings: Any, name: str, value: Any, id_: str) -> None:
    assert reported() == set()
    setattr(settings, name, value)
    assert reported() == {id_}


def test_a_name_that_the_site_answers_to_is_not_refused(settings: Any) -> None:
    for site, allowed in (
        ("https://letter.example.org", "letter.example.org"),
        ("https://letter.example.org", ".letter.example.org"),
        ("https://letter.example.org", ".example.org"),
        ("https://letter.example.org", "Letter.Example.org"),
        ("https://Letter.example.org", "letter.example.org"),
        ("https://letter.example.org.", "letter.example.org"),
        ("https://letter.example.org:8443", "letter.example.org"),
        ("https://[2001:DB8::1]:8443", "[2001:db8::1]"),
        ("https://letter.example.org", "*"),
    ):
        settings.SITE_URL = site
        settings.ALLOWED_HOSTS = [allowed]
        assert reported() == set(), (site, allowed)


def test_unset_webhook_credentials_are_reported(settings: Any) -> None:
    settings.POSTMARK_WEBHOOK_USER = settings.POSTMARK_WEBHOOK_PASSWORD = ""
    assert reported() == {"homing.W001"}


def test_an_unset_database_is_reported_outside_debug(settings: Any) -> None:
    settings.DATABASE_IS_NAMED = False
    [message] = run_checks(tags=["homing"])
    assert message.msg == (
        "DATABASE_URL is not set, so this site uses the embedded PostgreSQL in "
        f"{settings.HOMING_DATA_DIR}."
    )
    settings.DEBUG = True
    assert run_checks(tags=["homing"]) == []


def test_a_sender_chosen_on_the_desk_needs_no_environment(settings: Any) -> None:
    settings.SENDER_IS_NAMED = False
    assert reported() == {"homing.W003"}
    Newsletter.objects.update_or_create(pk=1, defaults={"sender_address": "ada@tides.example"})
    assert reported() == set()
