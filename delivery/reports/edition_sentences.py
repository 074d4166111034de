"""The words for an edition's state and audience, for pages and command output."""

from collections.abc import Mapping, Sequence

from django.utils.functional import Promise
from django.utils.text import get_text_list
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from delivery.humanise import quoted
from delivery.provider.from_settings import provider_name
from delivery.rules.edition_counts import EditionCounts
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

# The words for an audience, by `Edition.GoesTo`.
AUDIENCE_WORDS: Mapping[str, Promise] = {
    "everyone": _("all confirmed readers"),
    "reached": _("readers who were sent an earlier version"),
    "unreached": _("readers who were not sent an earlier version"),
    "nobody": _("nobody (archive only)"),
}

# The words for an audience while the edition waits for its scheduled time.
_LATER_AUDIENCE_WORDS: Mapping[str, Promise] = {
    **AUDIENCE_WORDS,
    "everyone": _("everyone confirmed by then"),
    "reached": _("everyone confirmed by then who was sent an earlier version"),
    "unreached": _("everyone confirmed by then who was not sent an earlier version"),
}

ARCHIVE_ONLY = _("Not mailed: archive only.")

# The words for an alarm, by `Alarm.Kind`.
ALARM_WORDS: Mapping[str, Promise] = {
    "accepted_twice": _("{provider} accepted a second copy"),
    "marked_unsettled": _("Marked as sent but not settled"),
    "not_at_provider": _("Recorded as sent, but {provider} does not show it"),
    "bounce_threshold": _("Too many bounces or complaints"),
    "other_address": _("An event names another address than its copy"),
    "batch_crashing": _("A batch crashes its workers"),
}


def audience_words(
    goes_to: str,
    with_tags: Sequence[str] = (),
    without_tags: Sequence[str] = (),
    *,
    is_scheduled: bool = False,
) -> str:
    """Name an audience and its tags within a sentence, such as “to …”.

    The audience of an edition that `is_scheduled` is known only at its scheduled time.
    """
    audience = str((_LATER_AUDIENCE_WORDS if is_scheduled else AUDIENCE_WORDS)[goes_to])
    if goes_to == "nobody" or not (with_tags or without_tags):
        return audience
    if not without_tags:
        sentence = gettext("{audience} with {tags}")
    elif not with_tags:
        sentence = gettext("{audience} without {excluded}")
    else:
        sentence = gettext("{audience} with {tags}, without {excluded}")
    tags, excluded = (
        get_text_list([quoted(name) for name in names], gettext("or"))
        for names in (with_tags, without_tags)
    )
    return sentence.format(audience=audience, tags=tags, excluded=excluded)


def audience_of(counts: EditionCounts) -> str:
    """Name the audience of an edition, as `audience_words` does."""
    is_scheduled = counts.control == "scheduled" and not counts.is_due
    return audience_words(
        counts.goes_to, counts.with_tags, counts.without_tags, is_scheduled=is_scheduled
    )


def alarm_words(kind: str) -> str:
    """Name a kind of alarm."""
    return str(ALARM_WORDS.get(kind, kind)).format(provider=provider_name())
