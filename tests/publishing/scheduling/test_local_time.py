"""The local time of a scheduled issue is parsed, also around clock changes."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.scheduled_time import LOCAL, ScheduledTime
from publishing.scheduling.find_zone import known_zones
from publishing.scheduling.local_time import (
    InvalidTimeError,
    fold_choice,
    parse_scheduled_time,
)
from publishing.scheduling.schedule_form import TIME_AND_NOW, ScheduleForm
from tests.publishing.schedule_issue import scheduled_time_in_zone

LISBON, NEW_YORK = "Europe/Lisbon", "America/New_York"
LORD_HOWE, APIA = "Australia/Lord_Howe", "Pacific/Apia"
NOW = datetime(2026, 9, 17, 5, 30, tzinfo=UTC)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


def refused(local: str, zone: str, *, now: datetime | None = NOW) -> InvalidTimeError:
    with pytest.raises(InvalidTimeError) as caught:
        parse_scheduled_time(local, zone, now=now)
    return caught.value


@pytest.mark.parametrize(
    ("local", "zone", "at", "words"),
    [
        (
            "2026-10-26 07:30:00",
            LISBON,
            utc(2026, 10, 26, 7, 30),
            f"Mon 26 Oct 2026, 07:30 {LISBON} (07:30 UTC)",
        ),
        (
            "2026-12-01T22:15",
            NEW_YORK,
            utc(2026, 12, 2, 3, 15),
            f"Tue 1 Dec 2026, 22:15 {NEW_YORK} (Wed 2 Dec, 03:15 UTC)",
        ),
        (
            "2026-12-31T08:00",
            APIA,
            utc(2026, 12, 30, 19),
            "Thu 31 Dec 2026, 08:00 Pacific/Apia (Wed 30 Dec, 19:00 UTC)",
        ),
        ("2026-09-24T07:00", "UTC", utc(2026, 9, 24, 7), "Thu 24 Sep 2026, 07:00 UTC"),
    ],
)
def test_scheduled_time_names_local_time_and_utc(
    local: str, zone: str, at: datetime, words: str
) -> None:
    moment = parse_scheduled_time(local, zone, now=NOW)
    assert moment == ScheduledTime(at, local[:16].replace(" ", "T"), zone)
    assert moment.words == words


@pytest.mark.parametrize(
    ("local", "zone", "now", "choices"),
    [
        ("2027-03-28T01:30", LISBON, NOW, ("00:30", "02:30")),
        ("2027-03-14T02:00", NEW_YORK, NOW, ("01:00", "03:00")),
        ("2026-10-04T02:29", LORD_HOWE, NOW, ("01:59", "02:59")),
        # Samoa skipped this day.
        ("2011-12-30T12:00", APIA, utc(2011, 12, 1), ("29 Dec 2011, 12:00", "31 Dec 2011, 12:00")),
    ],
)
def test_skipped_time_is_refused_with_times_that_exist(
    local: str, zone: str, now: datetime, choices: tuple[str, str]
) -> None:
    error = refused(local, zone, now=now)
    assert error.field == "at"
    assert all(choice in error.sentence for choice in choices)


@pytest.mark.parametrize(
    ("local", "zone", "now", "first", "second"),
    [
        ("2026-10-25T01:30", LISBON, NOW, utc(2026, 10, 25, 0, 30), utc(2026, 10, 25, 1, 30)),
        ("2026-11-01T01:00", NEW_YORK, NOW, utc(2026, 11, 1, 5), utc(2026, 11, 1, 6)),
        ("2027-04-04T01:45", LORD_HOWE, NOW, utc(2027, 4, 3, 14, 45), utc(2027, 4, 3, 15, 15)),
        (
            "2011-04-02T03:30",
            APIA,
            utc(2011, 1, 1),
            utc(2011, 4, 2, 13, 30),
            utc(2011, 4, 2, 14, 30),
        ),
    ],
)
def test_ambiguous_time_is_refused_until_one_is_chosen(
    local: str, zone: str, now: datetime, first: datetime, second: datetime
) -> None:
    error = refused(local, zone, now=now)
    assert error.field == "which"
    assert f"{first:%H:%M} UTC" in error.sentence
    assert f"{second:%H:%M} UTC" in error.sentence
    assert [choice.utc for choice in error.choices] == [first, second]
    for which, at in (("first", first), ("second", second)):
        moment = parse_scheduled_time(local, zone, which, now=now)
        assert (moment.utc, moment.local, fold_choice(moment)) == (at, local, which)


def test_choice_is_ignored_for_an_unambiguous_time() -> None:
    assert parse_scheduled_time("2026-10-25T07:30", LISBON, "second", now=NOW).utc == utc(
        2026, 10, 25, 7, 30
    )


@pytest.mark.parametrize(
    ("local", "zone", "field", "named"),
    [
        ("2026-09-24T07:00", "Lisbonn", "zone", "Did you mean Europe/Lisbon"),
        ("2026-09-24T07:00", "", "zone", ""),
        ("", LISBON, "at", ""),
        ("tomorrow", LISBON, "at", "“tomorrow” is not a time"),
        ("2026-02-30T07:00", LISBON, "at", "is not a time"),
        ("2026-09-24T07:00:30", LISBON, "at", "is not a time"),
        ("2026-09-17T06:30", LISBON, "at", "is in the past: it is Thu 17 Sep 2026, 06:30"),
        ("0001-01-01T00:00", APIA, "at", "is in the past: it is Thu 17 Sep 2026, 18:30"),
        ("2027-09-24T07:00", LISBON, "at", "Fri 24 Sep 2027, 07:00 Europe/Lisbon is more than a"),
        ("9999-12-31T23:59", NEW_YORK, "at", "year"),
    ],
)
def test_invalid_time_is_refused_with_one_sentence(
    local: str, zone: str, field: str, named: str
) -> None:
    error = refused(local, zone)
    assert error.field == field
    assert named in error.sentence
    assert error.sentence.endswith((".", "?"))


BEGINNING, END = map(datetime.fromisoformat, ("2000-01-01", "2036-12-01"))
moments = st.datetimes(min_value=BEGINNING, max_value=END, timezones=st.just(UTC)).map(
    lambda at: at.replace(second=0, microsecond=0)
)
CHANGING = [LISBON, NEW_YORK, LORD_HOWE, APIA, "Africa/Casablanca", "Asia/Gaza", "America/Havana"]
any_zone = st.one_of(st.sampled_from(CHANGING), st.sampled_from(sorted(known_zones())))


@given(moments, any_zone)
def test_every_moment_survives_a_round_trip(at: datetime, zone: str) -> None:
    scheduled = scheduled_time_in_zone(at, zone)
    if scheduled.utc.astimezone(ZoneInfo(zone)).second:
        return  # before time zones, offsets had seconds
    found = parse_scheduled_time(
        scheduled.local, zone, fold_choice(scheduled), now=at - timedelta(hours=1)
    )
    assert found == scheduled
    assert f"{found.utc.astimezone(ZoneInfo(zone)):{LOCAL}}" == scheduled.local


def form(**posted: str) -> ScheduleForm:
    return ScheduleForm(posted, now=NOW)


@pytest.mark.django_db
def test_a_form_without_a_time_publishes_now() -> None:
    for posted in ({}, {"when": "now", "at": "", "zone": "rubbish"}):
        form_of_now = form(**posted)
        assert form_of_now.is_valid()
        assert form_of_now.moment is None


@pytest.mark.django_db
@pytest.mark.parametrize("when", [{}, {"when": "now"}])
def test_send_now_with_a_time_is_refused(when: dict[str, str]) -> None:
    both = form(**when, at="2026-09-24T07:00", zone=LISBON)
    assert not both.is_valid()
    assert both.errors == {"at": [TIME_AND_NOW]}
    assert both.moment is None


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "posted"),
    [
        ("at", {"at": "", "zone": LISBON}),
        ("at", {"at": "2026-03-29T01:30", "zone": LISBON}),
        ("zone", {"at": "2026-09-24T07:00", "zone": "Mars/Utopia"}),
        ("which", {"at": "2026-10-25T01:30", "zone": LISBON}),
    ],
)
def test_each_error_is_at_its_field(field: str, posted: dict[str, str]) -> None:
    wrong = form(when="at", **posted)
    assert not wrong.is_valid()
    assert list(wrong.errors) == [field]
    assert len(wrong.errors[field]) == 1
    assert field == "which" or f"when-{field}-error" in str(wrong[field])


@pytest.mark.django_db
def test_form_offers_both_times_if_an_hour_repeats() -> None:
    twice = form(when="at", at="2026-10-25T01:30", zone=LISBON)
    assert not twice.is_valid()
    assert [choice.words for choice in twice.choices] == [
        "Sun 25 Oct 2026, 01:30 Europe/Lisbon (00:30 UTC)",
        "Sun 25 Oct 2026, 01:30 Europe/Lisbon (01:30 UTC)",
    ]
    chosen = form(when="at", at="2026-10-25T01:30", zone=LISBON, which="second")
    assert chosen.is_valid()
    assert chosen.moment == twice.choices[1]


@pytest.mark.django_db
def test_the_name_of_a_city_is_a_zone() -> None:
    chosen = form(when="at", at="2026-10-26T07:30", zone="lisbon")
    assert chosen.is_valid()
    assert chosen.moment == parse_scheduled_time("2026-10-26T07:30", LISBON, now=NOW)
    assert '<input type="text" name="zone" value="lisbon" list="zones"' in str(chosen["zone"])
    assert '<option value="America/New_York" label="New York">' in str(chosen["zone"])
