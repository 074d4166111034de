"""Change the newsletter's settings, with a record in the activity log."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from delivery.models import Newsletter
from publishing.approval.record_approval import switch_on_refusal
from publishing.editions.approved_sender import pause_held
from subscribers.record_activity import record_activity


class SettingRefusedError(Exception):
    """A setting cannot have this value now; the message says why."""


@transaction.atomic
def change_settings(values: Mapping[str, Any], by: uuid.UUID) -> list[str]:
    """Store the values that changed; return the names of the changed columns.

    Unchanged values are not written, so two authors who save different pages do not undo each
    other's changes. Raises `SettingRefusedError`.
    """
    Newsletter.objects.get_current()
    newsletter = Newsletter.objects.select_for_update(no_key=True).get()
    changed = [name for name, value in values.items() if getattr(newsletter, name) != value]
    if "second_person" in changed and values["second_person"] and (why := switch_on_refusal()):
        raise SettingRefusedError(why)
    for name in changed:
        setattr(newsletter, name, values[name])
    if changed:
        newsletter.save(update_fields=changed)
        pause_held()
        record_activity("change_settings", by, newsletter, fields=changed)
    return changed
