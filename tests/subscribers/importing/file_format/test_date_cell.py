"""Dates as programs and authors write them, and what a column proves about dates."""

from datetime import UTC, datetime

import pytest

from subscribers.importing.file_format.date_cell import FormOfColumn, Lost

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
APRIL = "2023-04-13"


def read(*cells: str) -> list[str | None]:
    """Read a column; return dates (a time of midnight is left out) or codes of faults."""
    column = FormOfColumn(NOW)
    for cell in cells:
        column.see(cell)
    form = column.form()
    found = [form.read(cell) for cell in cells]
    return [
        one.isoformat().removesuffix("T00:00:00+00:00") if isinstance(one, datetime) else one
        for one in found
    ]


@pytest.mark.parametrize(
    ("cell", "date"),
    [
        ("45029", APRIL),  # Excel
        ("1681380000", "2023-04-13T10:00:00+00:00"),
        ("1681380000123", "2023-04-13T10:00:00+00:00"),
        ("20230413", APRIL),
        ("April 13th, 2023 at 10:00 PM", "2023-04-13T22:00:00+00:00"),
        ("13-Apr-23", APRIL),
        ("13 de abril de 2023", APRIL),
        ("Thu, 13 Apr 2023 10:00:00 +0200", "2023-04-13T08:00:00+00:00"),
        (
            "Thu Apr 13 2023 10:00:00 GMT+0200 (Central European Summer Time)",
            "2023-04-13T08:00:00+00:00",
        ),
        ("2023年4月13日", APRIL),
        ("13.04.2023 um 10:00 Uhr", "2023-04-13T10:00:00+00:00"),
        ("13/04/2023 à 10:00", "2023-04-13T10:00:00+00:00"),
        ("13 mrt. 2023", "2023-03-13"),
        ("13 kwietnia 2023", APRIL),
        ("13 באפריל 2023", APRIL),
        ("١٣ أبريل ٢٠٢٣", APRIL),
        ("١٣\u200f/٤\u200f/٢٠٢٣", APRIL),
        ("2023-W15-4", APRIL),
        ("13. 4. 2023", APRIL),
        ("2023. 04. 13.", APRIL),
        ("2023-04-13 10:00:00 UTC", "2023-04-13T10:00:00+00:00"),
        ("2023-04-13 10:00:00 +0200 CEST", "2023-04-13T08:00:00+00:00"),
        ("04/13/2023", APRIL),
        ("4/13/23, 10:05 PM", "2023-04-13T22:05:00+00:00"),
        ("04/04/2023", "2023-04-04"),
        *dict.fromkeys(("0", "0001-01-01 00:00:00 +0000 UTC", "N/A", "-", "")).items(),
        ("#####", Lost.NARROW),
        ("03/04/2023", Lost.AMBIGUOUS),
        ("13/4/12", Lost.AMBIGUOUS),  # 2012, or 12 April 2013
        ("1970-01-01", Lost.OUT_OF_RANGE),
        ("31/31/2023", Lost.UNREADABLE),
        ("9" * 10, Lost.UNREADABLE),
        ("March 3", Lost.UNREADABLE),
        ("13 Jui 2023", Lost.UNREADABLE),  # “juin” or “juillet”
        ("3 listopada 2023", Lost.UNREADABLE),  # Polish for November, Croatian for October
        ("32000", Lost.UNREADABLE),  # before 1990
        ("13/04/2023 10:00 EST", Lost.UNREADABLE),
        ("29/02/2023", Lost.UNREADABLE),
        ("2023-04-13\0", Lost.UNREADABLE),
        ("13/04/2023 10:00" + " " * 60_000 + "x", Lost.UNREADABLE),
        ("a" * 60_000, Lost.UNREADABLE),
    ],
)
def test_a_date_is_read_if_it_has_one_meaning(cell: str, date: str | None) -> None:
    assert read(cell) == [date]


@pytest.mark.parametrize(
    ("cells", "dates"),
    [
        (["03/04/2023", "04/13/2023"], ["2023-03-04", APRIL]),
        (["03/04/2023", "13/04/2023"], ["2023-04-03", APRIL]),
        # The column has dates in both orders, so only dates with a single meaning are read.
        (["03/04/2023", "13/04/2023", "04/13/2023"], [Lost.AMBIGUOUS, APRIL, APRIL]),
        (["13/4/12", "31/12/22"], ["2012-04-13", "2022-12-31"]),
        (["03/04/2023", APRIL, "13.04.2023"], [Lost.AMBIGUOUS, APRIL, APRIL]),
        # These numbers come from a shop. They are not days as Excel counts them.
        (["45029", "17"], [Lost.UNREADABLE, Lost.UNREADABLE]),
        (["45029", "1681380000"], [Lost.UNREADABLE, Lost.UNREADABLE]),
        # An American Excel reads 3/4/2023 as 4 March, and leaves 13/4/2023 as text.
        (["44989", "13/04/2023"], [Lost.UNREADABLE, APRIL]),
        (["1681380000", "13/04/2023"], ["2023-04-13T10:00:00+00:00", APRIL]),
        (["45029", "0", APRIL], [APRIL, None, APRIL]),
    ],
)
def test_a_column_proves_its_form(cells: list[str], dates: list[str | None]) -> None:
    assert read(*cells) == dates
