"""Stricter isolation levels are refused by `check` and when a key is claimed."""

import copy

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from psycopg import IsolationLevel

from idempotency.isolation import WrongIsolationError, isolation_error, refuse_wrong_isolation
from tests.idempotency.one_form_site import titles


def with_level(settings, level):
    """Set an isolation level in the settings only; open connections keep their level."""
    databases = copy.deepcopy(settings.DATABASES)
    databases["default"]["OPTIONS"]["isolation_level"] = level
    settings.DATABASES = databases


def test_our_settings_pass():
    refuse_wrong_isolation()
    assert list(run_checks(tags=["idempotency"])) == []


@pytest.mark.django_db  # `check` also reads the server's settings.
@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
def test_a_stricter_level_in_the_settings_is_refused(settings, level):
    with_level(settings, level)
    with pytest.raises(WrongIsolationError, match="Only READ COMMITTED allows"):
        refuse_wrong_isolation()
    with pytest.raises(SystemCheckError, match=r"idempotency\.E001"):
        call_command("check")


def test_a_missing_level_in_the_settings_is_refused():
    assert "no isolation level" in str(isolation_error({"default": {}}))


@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
def test_the_error_names_a_level_given_as_a_number(level):
    def asking_for(asked):
        return {"default": {"OPTIONS": {"isolation_level": asked.value}}}

    assert level.name.replace("_", " ") in str(isolation_error(asking_for(level)))
    assert isolation_error(asking_for(IsolationLevel.READ_COMMITTED)) is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
def test_the_claim_refuses_a_connection_with_a_stricter_level(window, level):
    connection.ensure_connection()
    connection.connection.isolation_level = level
    try:
        with pytest.raises(WrongIsolationError, match=level.name.replace("_", " ")):
            window.post()
    finally:
        connection.close()
    assert titles() == []
