"""The table of new readers by source."""

from datetime import date

from publishing.dashboard.reader_sources import first_month, source_table


def test_the_largest_source_and_the_newest_month_come_first() -> None:
    may, june = date(2026, 5, 1), date(2026, 6, 1)
    numbers = {(may, "form"): 3, (june, "form"): 2, (june, "sign-up"): 1, (may, "import"): 40}

    table = source_table(numbers)

    assert table is not None
    assert [(label, number) for label, number, _ in table.totals] == [
        ("Import", 40),
        ("Form on this site", 6),
    ]
    assert table.months == [("Jun 2026", [0, 3]), ("May 2026", [40, 3])]


def test_no_new_readers_make_no_table() -> None:
    assert source_table({}) is None


def test_twelve_months_are_shown_with_the_present_one() -> None:
    assert first_month(date(2026, 11, 28)) == date(2025, 12, 1)
    assert first_month(date(2026, 12, 1)) == date(2026, 1, 1)
