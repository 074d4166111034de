"""Read dates in cells. If a cell can mean several dates, its column may decide.

A date of sign-up is never a guess. 3/4/2023 has a meaning only if another cell of the column shows
whether the day or the month comes first.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from delivery.control_characters import INVISIBLE

# The names of the months in Homing's languages and some others. The first letters of a month's name
# are enough if no other month's name starts with them. Two texts are not read: “listopad” means
# November in Polish but October in Croatian, and both a name of June and a name of July start with
# “lip”.
_MONTHS = """
    january januar janvier enero gennaio janeiro januari styczeń stycznia ינואר בינואר يناير
    february februar février febrero febbraio fevereiro februari luty lutego פברואר בפברואר فبراير
    march märz mars marzo março maart mrt marts maerz marzec marca מרץ במרץ مارس
    april avril abril aprile kwiecień kwietnia אפריל באפריל أبريل إبريل
    may mai mayo maggio maio mei maj maja מאי במאי مايو
    june juni juin junio giugno junho czerwiec czerwca lipanj lipnja יוני ביוני يونيو
    july juli juillet julio luglio julho lipiec lipca יולי ביולי يوليو
    august août agosto augustus augusti sierpień sierpnia אוגוסט באוגוסט أغسطس
    september septembre septiembre settembre setembro wrzesień września ספטמבר בספטמבר سبتمبر
    october oktober octobre octubre ottobre outubro października listopada אוקטובר באוקטובר أكتوبر
    november novembre noviembre novembro listopada נובמבר בנובמבר نوفمبر
    december dezember décembre diciembre dicembre dezembro grudzień grudnia דצמבר בדצמבר ديسمبر
"""
_SHORTEST = 3  # the fewest letters of a month's name that are read
_LONGEST = 100  # longest text read as a date, to limit the time of reading
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)  # an earlier date is no date of sign-up
_ZONES = timedelta(days=1)  # a date without a zone may be a day ahead of UTC
_SERIAL_0 = datetime(1899, 12, 30, tzinfo=UTC)  # Excel counts days from this date

_NUMERIC = re.compile(
    r"(?:(\d{4})[-/.] ?(\d\d?)[-/.] ?(\d\d?)\.?"
    r"|(\d\d?)([-/.]) ?(\d\d?)[-/.] ?(\d{4}|\d\d))(?!\d)"
)
_EAST_ASIAN = re.compile(r"(\d{4})[年년] ?(\d\d?)[月월] ?(\d\d?)[日일]")
_WEEKDAY = r"(?:[^\W\d_]{2,12}\.?,? )?"
_WRITTEN = (
    re.compile(
        rf"{_WEEKDAY}(?P<day>\d\d?)(?:st|nd|rd|th|er|\.|º)?[ -](?:de |of )?"
        r"(?P<month>[^\W\d_]{3,12})\.?,?(?: de| of| del)?[ -](?P<year>\d{4}|\d\d)(?!\d)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_WEEKDAY}(?P<month>[^\W\d_]{{3,12}})\.?[ -](?P<day>\d\d?)(?:st|nd|rd|th)?,?[ -]"
        r"(?P<year>\d{4})(?!\d)",
        re.IGNORECASE,
    ),
)
_TIME = re.compile(
    r"(?:(?:[T ,]|\b(?:at|à|um|om)\b)+(\d\d?):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?"
    r"\s*(?:([AP])\.?M\b\.?|Uhr)?)?"
    # Programs in Go, such as listmonk, write the zone's offset twice: first as a number, then as a
    # number or as the name of the zone.
    r"\s*(?:(?:GMT|UTC)?([+-]\d\d):?(\d\d)?\s*(?:[A-Z]{1,5}|[+-]\d{2,4}|\([^()]*\))?|Z|UTC|GMT)?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(\d{1,16})(?:[.,](\d{1,12}))?")
_NO_DATE = re.compile(r"0|000[01]-.*|0000/.*|-+|null|none|nil|nan|n/?a|never", re.IGNORECASE)
_TOO_NARROW = re.compile(r"#{2,}")
_SERIAL = "serial"
_DAY_FIRST, _MONTH_FIRST, _YEAR_FIRST = "day", "month", "year"


class Lost(StrEnum):
    """The reasons why a cell gives no date of sign-up."""

    NARROW = "narrow"
    AMBIGUOUS = "ambiguous"
    OUT_OF_RANGE = "out_of_range"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class DateForm:
    """The form of a column's dates; attributes that the column leaves open are None."""

    latest: datetime
    order: str | None = None  # the part that comes first in 3/4/2023: day, month or year
    number: str | None = None  # the unit of a plain number

    def read(self, cell: str) -> datetime | Lost | None:
        """Return the date of a cell that can mean only one date; None for “no date”.

        Return a `Lost` if the cell does not mean exactly one date, or if this date is out of range.
        """
        cell = _cleaned(cell)
        if cell[4:5] == "-" and cell[0] in "12" and (at := _iso(cell)) is not None:
            return self._in_range(at)  # a fast path: a file may have millions of rows
        if is_no_date(cell):
            return None
        if _TOO_NARROW.fullmatch(cell):
            return Lost.NARROW
        if (number := _number(cell)) is not None:
            kind, at = number
            return self._in_range(at) if kind == self.number else Lost.UNREADABLE
        found = set(_by_order(cell, self.order).values())
        if len(found) > 1:
            return Lost.AMBIGUOUS
        return self._in_range(found.pop()) if found else Lost.UNREADABLE

    def _in_range(self, at: datetime) -> datetime | Lost:
        return at if EARLIEST <= at <= self.latest else Lost.OUT_OF_RANGE


class FormOfColumn:
    """Finds the form of a column's dates, one cell at a time in constant memory."""

    def __init__(self, now: datetime) -> None:
        self._latest = now + _ZONES
        self._orders: set[str] | None = None
        self._numbers: set[str] = set()

    def see(self, cell: str) -> None:
        """Use the cell as evidence of the form of its column."""
        cell = _cleaned(cell)
        if not cell or cell[4:5] == "-" or is_no_date(cell):
            return  # most cells begin with the year, which proves nothing about other cells
        if (number := _number(cell)) is not None:
            kind, at = number
            self._numbers.add(kind if EARLIEST <= at <= self._latest else "")
        elif (date := _NUMERIC.match(cell)) and not date[1] and date[5] != ".":
            found = _by_order(cell)
            if _YEAR_FIRST in found and not EARLIEST <= found[_YEAR_FIRST] <= self._latest:
                del found[_YEAR_FIRST]
            if found:
                self._orders = set(found) if self._orders is None else self._orders & set(found)

    def form(self) -> DateForm:
        """Return the form of dates that fits all cells of the column seen so far."""
        [order] = self._orders if self._orders and len(self._orders) == 1 else [None]
        [number] = self._numbers if len(self._numbers) == 1 else [""]
        if number == _SERIAL and self._orders is not None:
            # Excel turns 3/4/2023 into a number, perhaps with day and month swapped, and leaves
            # 13/4/2023 as text. If a column has numbers and also dates as texts, the numbers have
            # no certain meaning.
            number = ""
        return DateForm(self._latest, order, number or None)


def is_no_date(cell: str) -> bool:
    """Return whether this value means “no date”, as products write it."""
    return not cell or _NO_DATE.fullmatch(cell) is not None


def latest_date(cell: str) -> datetime | None:
    """Return the latest date that a cell can mean; None for a cell without a date."""
    cell = _cleaned(cell)
    if (number := _number(cell)) is not None:
        return number[1] if number[1] >= EARLIEST else None
    return max(_by_order(cell).values(), default=None)


def looks_like_date(cell: str) -> bool:
    """Return whether a cell starts like a date, or is a number of days or seconds."""
    cell = _cleaned(cell)
    if _NUMERIC.match(cell) or _TOO_NARROW.fullmatch(cell):
        return True
    return latest_date(cell) is not None


def _cleaned(cell: str) -> str:
    """Remove spaces around a date, and the direction marks that programs add to it."""
    cell = cell.strip()
    return cell if cell.isascii() else INVISIBLE.sub("", cell).strip()


def _iso(cell: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(cell).replace(microsecond=0)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _by_order(cell: str, only: str | None = None) -> dict[str, datetime]:
    """Return the time that a date means in each possible order of day, month and year."""
    if len(cell) > _LONGEST:
        return {}
    readings, end = _readings(cell)
    time = _TIME.fullmatch(cell, end)
    if time is None:
        return {}
    return {
        order: at
        for order, date in readings.items()
        if only in (order, None) or len(readings) == 1
        if (at := _moment(date, time)) is not None
    }


def _readings(cell: str) -> tuple[dict[str, tuple[str, str, str]], int]:
    """Return year, month and day in each possible order, and where the date ends."""
    if found := _NUMERIC.match(cell):
        year, month, day, first, separator, second, last = found.groups()
        if year:
            return {_YEAR_FIRST: (year, month, day)}, found.end()
        full = f"20{last}" if len(last) == 2 else last
        readings = {_DAY_FIRST: (full, second, first)}
        if separator != ".":
            readings[_MONTH_FIRST] = (full, first, second)
            if len(last) == 2:
                readings[_YEAR_FIRST] = (f"20{first:0>2}", second, last)
        return readings, found.end()
    if found := _EAST_ASIAN.match(cell):
        return {_YEAR_FIRST: (found[1], found[2], found[3])}, found.end()
    for pattern in _WRITTEN:
        if (found := pattern.match(cell)) and (number := _MONTH_OF.get(found["month"].lower())):
            year = found["year"]
            full = f"20{year}" if len(year) == 2 else year
            return {_DAY_FIRST: (full, str(number), found["day"])}, found.end()
    return {}, 0


def _moment(date: tuple[str, str, str], time: re.Match[str]) -> datetime | None:
    hour, minute, second, half, zone_hours, zone_minutes = time.groups("00")
    hours = int(hour) if half == "00" else int(hour) % 12 + (12 if half in "Pp" else 0)
    zone = f"{zone_hours}:{zone_minutes}" if zone_hours != "00" else "+00:00"
    year, month, day = date
    try:
        at = f"{int(year)}-{int(month):02}-{int(day):02}T{hours:02}:{minute}:{second}{zone}"
        return datetime.fromisoformat(at).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _number(cell: str) -> tuple[str, datetime] | None:
    """Return the unit and the date of a plain number; None for other cells."""
    found = _NUMBER.fullmatch(cell)
    if found is None:
        return None
    whole, part = found[1], float(f"0.{found[2] or 0}")
    try:
        match len(whole):
            case 5:
                return _SERIAL, _SERIAL_0 + timedelta(seconds=round(86_400 * (int(whole) + part)))
            case 8:
                return "date", datetime.strptime(whole, "%Y%m%d").replace(tzinfo=UTC)
            case 9 | 10:
                return "seconds", datetime.fromtimestamp(int(whole), UTC)
            case 12 | 13:
                return "milliseconds", datetime.fromtimestamp(int(whole) // 1000, UTC)
    except (ValueError, OverflowError):
        pass
    return "", _SERIAL_0


def _months() -> dict[str, int]:
    """Map the first letters of months' names to months, if they fit only one month."""
    lines = [line.split() for line in _MONTHS.strip().splitlines()]
    found: dict[str, set[int]] = {}
    for number, names in enumerate(lines, 1):
        for name in names:
            for length in range(_SHORTEST, len(name) + 1):
                found.setdefault(name[:length], set()).add(number)
    return {name: numbers.pop() for name, numbers in found.items() if len(numbers) == 1}


_MONTH_OF = _months()
