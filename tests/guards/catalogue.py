"""Every guard that docs/states.md, the decisions and the code's own comments speak of."""

from __future__ import annotations

from tests.guards import (
    on_calls,
    on_changing,
    on_claiming_and_starting,
    on_control,
    on_doubt,
    on_evidence,
    on_imports,
    on_leaving_and_erasing,
    on_mail_on_request,
    on_operating,
    on_pace,
    on_publishing,
    on_restored_backups,
    on_rights,
    on_scheduled_issues,
    on_settling_and_sweeping,
    on_sign_up,
    on_signing_in,
    on_test_letters,
    on_the_api,
    on_the_database,
    on_told,
)
from tests.guards.guard import Guard

GUARDS: tuple[Guard, ...] = (
    *on_claiming_and_starting.GUARDS,
    *on_calls.GUARDS,
    *on_settling_and_sweeping.GUARDS,
    *on_doubt.GUARDS,
    *on_evidence.GUARDS,
    *on_control.GUARDS,
    *on_pace.GUARDS,
    *on_publishing.GUARDS,
    *on_leaving_and_erasing.GUARDS,
    *on_sign_up.GUARDS,
    *on_imports.GUARDS,
    *on_mail_on_request.GUARDS,
    *on_restored_backups.GUARDS,
    *on_scheduled_issues.GUARDS,
    *on_the_database.GUARDS,
    *on_told.GUARDS,
    *on_test_letters.GUARDS,
    *on_rights.GUARDS,
    *on_the_api.GUARDS,
    *on_changing.GUARDS,
    *on_operating.GUARDS,
    *on_signing_in.GUARDS,
)
