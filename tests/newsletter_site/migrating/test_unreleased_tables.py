"""Tables from before the first release are refused with one sentence."""

import pytest
from django.core.checks import Tags, run_checks
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

pytestmark = pytest.mark.django_db


def test_migrate_names_the_unreleased_migration_it_found() -> None:
    applied = MigrationRecorder(connection).migration_qs.filter(app="delivery")
    applied.filter(name__startswith="0001").update(name="0001_first")
    applied.filter(name__startswith="0002").update(name="0044_last")
    for option in ({}, {"plan": True}):
        with pytest.raises(CommandError) as refusal:
            call_command("migrate", verbosity=0, skip_checks=False, **option)
        assert "an unreleased version of Homing (delivery.0044_last)" in str(refusal.value)
        assert "Use an empty database" in str(refusal.value)


def test_tables_of_a_later_release_are_not_refused() -> None:
    MigrationRecorder(connection).record_applied("delivery", "0044_later")
    found = run_checks(tags=[Tags.database], databases=["default"])
    assert "homing.E002" not in [one.id for one in found]
