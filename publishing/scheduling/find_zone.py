"""Find the time zone that an author means, such as Europe/Lisbon for “lisbon”."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.utils.translation import gettext as _

from delivery.rules.scheduled_time import day_and_time

# The areas in names of time zones such as Europe/Lisbon. All other zone names are technical or
# obsolete.
_AREAS = {
    *("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe"),
    *("Indian", "Pacific"),
}
_NO_PLACES = {"localtime", "Factory"}
_MOST_SUGGESTIONS = 3
_LONGEST = 64
_BETWEEN_WORDS = re.compile(r"[\s_-]+")
_SLASH = re.compile(r"\s*/\s*")


class UnknownZoneError(ValueError):
    """No zone has this name. The message names similar zones."""


@cache
def known_zones() -> frozenset[str]:
    """Return the names of all time zones, including obsolete names."""
    return frozenset(available_timezones() - _NO_PLACES)


@cache
def zones_of_places() -> tuple[str, ...]:
    """Return the names of zones that forms suggest: UTC and all places, sorted."""
    places = (zone for zone in known_zones() if zone.split("/")[0] in _AREAS and "/" in zone)
    return ("UTC", *sorted(places))


def find_zone(written: str) -> str:
    """Return the zone with this name, or the zone of the city with this name.

    Case, accents, blanks and hyphens are ignored. Raises `UnknownZoneError`.
    """
    if written in known_zones():
        return written
    key = _key(written[:_LONGEST])
    if not key:
        raise UnknownZoneError(_("The time zone is missing. Enter one such as Europe/Lisbon."))
    if zone := _zones_by_key().get(key):
        return zone
    similar = _similar(key)
    if not similar:
        sentence = _("“{name}” is not a time zone. Enter one such as Europe/Lisbon.")
    elif len(similar) == 1:
        sentence = _("“{name}” is not a time zone. Did you mean {last}?")
    else:
        sentence = _("“{name}” is not a time zone. Did you mean {zones} or {last}?")
    raise UnknownZoneError(
        sentence.format(
            name=written[:_LONGEST].strip(),
            zones=", ".join(similar[:-1]),
            last="".join(similar[-1:]),
        )
    )


def local_time_sentence(zone: str, now: datetime) -> str:
    """Return a sentence with the zone's current local time."""
    return _("It is {time} now in {zone}.").format(
        time=day_and_time(now.astimezone(ZoneInfo(zone))), zone=zone
    )


@cache
def _zones_by_key() -> Mapping[str, str]:
    """Return zones by their full names and by the names of their cities.

    If two zones have the same city, such as Asia/Istanbul and Europe/Istanbul, they have the same
    time. So it does not matter which of them is found.
    """
    found: dict[str, str] = {}
    for zone in zones_of_places():
        parts = zone.split("/")
        for number in range(1, len(parts)):
            found.setdefault(_key("/".join(parts[number:])), zone)
    return found | {_key(zone): zone for zone in known_zones()}


def _similar(key: str) -> list[str]:
    """Return the zones whose names contain the key, or else are spelled alike."""
    by_key = _zones_by_key()
    keys = sorted(one for one in by_key if key in one) if len(key) > 2 else []
    keys = keys or get_close_matches(key, by_key, 2 * _MOST_SUGGESTIONS, 0.7)
    return list(dict.fromkeys(map(by_key.__getitem__, keys)))[:_MOST_SUGGESTIONS]


def _key(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.strip()).casefold()
    plain = "".join(one for one in letters if not unicodedata.combining(one))
    return _BETWEEN_WORDS.sub("_", _SLASH.sub("/", plain))
