"""A time zone is found by its name or its city, and wrong names get suggestions."""

from collections import defaultdict
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from publishing.scheduling.find_zone import (
    UnknownZoneError,
    find_zone,
    known_zones,
    local_time_sentence,
    zones_of_places,
)

YEARS = range(2000, 2038)


@pytest.mark.parametrize(
    ("written", "zone"),
    [
        ("Europe/Lisbon", "Europe/Lisbon"),
        ("lisbon", "Europe/Lisbon"),
        (" europe / LISBON ", "Europe/Lisbon"),
        ("new york", "America/New_York"),
        ("São Paulo", "America/Sao_Paulo"),
        ("port au prince", "America/Port-au-Prince"),
        ("Argentina/Buenos Aires", "America/Argentina/Buenos_Aires"),
        ("utc", "UTC"),
        ("etc/gmt-1", "Etc/GMT-1"),
    ],
)
def test_zones_are_found_by_name_or_city(written: str, zone: str) -> None:
    assert find_zone(written) == zone


def test_every_known_name_finds_its_own_zone() -> None:
    assert {find_zone(zone.lower()) for zone in known_zones()} == known_zones()


def test_zones_that_share_a_city_have_the_same_time() -> None:
    by_city = defaultdict(set)
    for zone in zones_of_places():
        months = (datetime(year, month, 1, tzinfo=UTC) for year in YEARS for month in (1, 7))
        offsets = tuple(month.astimezone(ZoneInfo(zone)).utcoffset() for month in months)
        by_city[zone.rpartition("/")[2]].add(offsets)
    assert {city for city, times in by_city.items() if len(times) > 1} == set()


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("Lisbonn", "“Lisbonn” is not a time zone. Did you mean Europe/Lisbon?"),
        ("york", "“york” is not a time zone. Did you mean America/New_York?"),
        ("xyzzy", "“xyzzy” is not a time zone. Enter one such as Europe/Lisbon."),
        ("../../etc/passwd", "“../../etc/passwd” is not a time zone."),
        ("localtime", "“localtime” is not a time zone."),
        (" ", "The time zone is missing."),
    ],
)
def test_unknown_zones_are_refused_with_similar_ones(written: str, sentence: str) -> None:
    with pytest.raises(UnknownZoneError) as refused:
        find_zone(written)
    assert str(refused.value).startswith(sentence)


def test_at_most_three_zones_are_suggested() -> None:
    with pytest.raises(UnknownZoneError, match=r"Did you mean Europe/\w+, Europe/\w+ or Eur\w+/"):
        find_zone("Europe")


def test_local_time_is_that_of_the_zone() -> None:
    now = datetime(2026, 12, 1, 23, 30, tzinfo=UTC)
    assert (
        local_time_sentence("Asia/Tokyo", now) == "It is Wed 2 Dec 2026, 08:30 now in Asia/Tokyo."
    )
