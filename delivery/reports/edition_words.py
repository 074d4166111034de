"""The words for an edition's state and audience, for pages and command output."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from delivery.rules.edition_state import EditionState

STATE_WORDS: Mapping[EditionState, Promise] = {
    EditionState.SCHEDULED: _("scheduled"),
    EditionState.HELD: _("held"),
    EditionState.SENDING: _("sending"),
    EditionState.PAUSED: _("paused"),
    EditionState.NEEDS_ATTENTION: _("needs attention"),
    EditionState.SUCCEEDED: _("succeeded"),
    EditionState.CANCELLED: _("cancelled"),
    EditionState.CLOSED: _("closed"),
}

# By `Edition.GoesTo`.
AUDIENCE_WORDS: Mapping[str, Promise] = {
    "everyone": _("all confirmed readers"),
    "reached": _("readers who were sent an earlier version"),
    "unreached": _("readers who were not sent an earlier version"),
    "nobody": _("nobody (archive only)"),
}

ARCHIVE_ONLY = _("Not mailed: archive only.")

# By `Alarm.Kind`.
ALARM_WORDS: Mapping[str, Promise] = {
    "accepted_twice": _("Postmark accepted a second copy"),
    "marked_unsettled": _("Marked as sent but not settled"),
    "not_at_provider": _("Recorded as sent, but Postmark does not show it"),
    "bounce_threshold": _("Too many bounces or complaints"),
    "other_address": _("An event names another address than its copy"),
    "batch_crashing": _("A batch crashes its workers"),
}


def audience_words(goes_to: str) -> str:
    """Name an audience within a sentence."""
    return str(AUDIENCE_WORDS[goes_to])


def alarm_words(kind: str) -> str:
    """Name a kind of alarm."""
    return str(ALARM_WORDS.get(kind, kind))
