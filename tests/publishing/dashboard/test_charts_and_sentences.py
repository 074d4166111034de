"""Charts, bars and sentences on pages of the desk."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.humanise import duration, late_duration
from publishing.dashboard.dashboard_headline import headline_sentence
from publishing.dashboard.readers_chart import Point, chart_of, scale_of
from publishing.progress_bar import NARROWEST, ORDER, parts_of
from publishing.templatetags.desk import mailbox


def charted(*readers: int) -> dict[str, Any]:
    chart = chart_of([Point(f"{number + 1} Jul", count) for number, count in enumerate(readers)])
    assert chart is not None
    return chart


def places(chart: dict[str, Any]) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", chart["line"])]


@pytest.mark.parametrize("readers", [[], [7]])
def test_fewer_than_two_points_give_no_chart(readers: list[int]) -> None:
    assert chart_of([Point("1 Jul", count) for count in readers]) is None


def test_the_line_of_the_chart_fills_its_width() -> None:
    chart = charted(48_310, 50_000, 52_418)
    assert chart["scale"] == (47_500, 50_000, 52_500)
    assert [x for x, _ in places(chart)] == [0.0, 500.0, 1000.0]
    heights = [y for _, y in places(chart)]
    assert heights == sorted(heights, reverse=True)
    assert len(chart["dots"]) == 3
    assert chart["area"] == f"{chart['line']} V100 H0z"


@pytest.mark.parametrize(
    ("readers", "scale"),
    [
        ([0, 0], (0, 1, 2)),
        ([1, 1], (0, 1, 2)),
        ([100, 100, 100], (99, 100, 101)),
        ([0, 1], (0, 1, 2)),
        ([3, 4], (3, 4, 5)),
        ([0, 1_000_000], (0, 500_000, 1_000_000)),
        ([9_999_999, 10_000_001], (9_999_999, 10_000_000, 10_000_001)),
        ([12, 3_000_000_000], (0, 2_000_000_000, 4_000_000_000)),
    ],
)
def test_the_scale_is_round_and_holds_all_points(
    readers: list[int], scale: tuple[int, int, int]
) -> None:
    assert scale_of(readers) == scale
    low, middle, high = scale
    assert middle - low == high - middle > 0
    assert all(0 <= y <= 100 for _, y in places(charted(*readers)))


def test_the_change_names_the_previous_and_the_first_issue() -> None:
    assert charted(48_310, 52_103, 52_418)["change"] == (
        "315 more than on 2 Jul. 4,108 more than on 1 Jul."
    )
    assert charted(10, 7, 7)["change"] == "No change since 2 Jul. 3 fewer than on 1 Jul."
    assert charted(10, 7, 10)["change"] == "3 more than on 2 Jul. As many as on 1 Jul."
    assert charted(10, 20)["words"] == "Confirmed readers: 10 on 1 Jul, 20 on 2 Jul"
    assert {y for _, y in places(charted(500, 500, 500))} == {50.0}  # a flat line


@pytest.mark.parametrize(
    ("points", "change"),
    [
        ([("1 Jul", 7), ("", 7)], "No change since 1 Jul."),
        ([("1 Jul", 7), ("2 Jul", 7), ("", 7)], "No change since 1 Jul."),
        ([("1 Jul", 9), ("2 Jul", 7), ("3 Jul", 7), ("", 7)],
         "No change since 2 Jul. 2 fewer than on 1 Jul."),
        # If two issues have the same day, the chart compares with the later issue.
        ([("1 Jul", 7), ("1 Jul", 7), ("", 7)], "No change since 1 Jul."),
        ([("1 Jul", 5), ("1 Jul", 6), ("", 7)], "1 more than on 1 Jul."),
    ],
)  # fmt: skip
def test_the_change_names_no_date_twice(points: list[tuple[str, int]], change: str) -> None:
    chart = chart_of([Point(*point) for point in points])
    assert chart is not None
    assert chart["change"] == change


@pytest.mark.parametrize(("points", "labels"), [(2, 2), (3, 3), (4, 4), (5, 3), (6, 2), (13, 4)])
def test_dates_are_evenly_spaced_or_only_at_the_ends(points: int, labels: int) -> None:
    chart = charted(*range(points))
    assert len(chart["labels"]) == labels
    assert (chart["labels"][0], chart["labels"][-1]) == ("1 Jul", f"{points} Jul")


def test_a_date_is_labelled_once() -> None:
    chart = chart_of([Point("1 Jul", 5), Point("1 Jul", 7), Point("", 7)])
    assert chart is not None
    assert chart["labels"] == ("1 Jul", "", "now")


def test_a_bar_on_another_scale_leaves_the_rest_empty() -> None:
    def widths(whole: int, **counts: int) -> list[str]:
        return [part.width for part in parts_of(counts, whole=whole)]

    assert widths(72, suppressed=59, withdrawn=10, failed=3) == ["81.94%", "13.89%", "4.17%"]
    assert widths(72, suppressed=36, failed=0) == ["50.00%", "0.00%"]
    assert widths(0, suppressed=0) == ["0.00%"]
    # The bar still shows a part of one in a million, and all parts together fit into the bar.
    assert widths(1_000_001, suppressed=1_000_000, failed=1) == ["99.20%", "0.80%"]


a_count = st.integers(0, 2_000_000)
counts_of_an_edition = st.tuples(*[a_count] * 6).map(lambda n: dict(zip(ORDER, n, strict=True)))


@given(counts_of_an_edition)
def test_a_bar_is_full_and_every_part_is_visible(counts):
    parts = parts_of(counts)

    assert [part.outcome for part in parts] == list(ORDER)
    x = 0.0
    for part in parts:
        width = float(part.width.rstrip("%"))
        assert float(part.x.rstrip("%")) == pytest.approx(x, abs=0.05)
        assert width >= NARROWEST - 0.01 if counts[part.outcome] else width == 0
        x += width
    assert x == pytest.approx(100 if any(counts.values()) else 0, abs=0.05)


NEXT = ("Notes from a wet orchard", "Thu 24 Sep 2026, 07:00 UTC")


@pytest.mark.parametrize(
    ("headline", "numbers"),
    [
        ({}, "^No issue"),
        ({"drafts": 1}, "1 draft"),
        ({"has_issues": True, "drafts": 12}, "Nothing .* 12 drafts"),
        ({"needs": 3, "sending": ["Swifts"], "has_issues": True}, "^3 .*“Swifts”"),
        ({"sending": ["Swifts", "Herons"], "has_issues": True}, "^2 "),
        (
            {"held": ["Herons"], "sending": ["Swifts"], "has_issues": True},
            "“Herons” is held.*Another",
        ),
        (
            {"scheduled": [NEXT], "has_issues": True},
            "“Notes from a wet orchard” .* 24 Sep 2026",
        ),
        (
            {"scheduled": [NEXT, ("Herons", "later")], "sending": ["Swifts"], "has_issues": True},
            "“Swifts” .*2 .*, 07:00",
        ),
        ({"sees_issues": False, "needs": 11}, "^11 "),
    ],
)
def test_the_headline_starts_with_things_to_do(headline: dict[str, Any], numbers: str) -> None:
    assert re.search(numbers, headline_sentence(**headline))


@pytest.mark.parametrize(
    ("sender", "shown"),
    [
        ("Homing <letter@example.org>", "Homing <letter@example.org>"),
        ('"Marlow, The Almanack" <l@example.org>', "Marlow, The Almanack <l@example.org>"),
        ("letter@example.org", "letter@example.org"),
    ],
)
def test_a_sender_is_shown_without_header_quotes(sender, shown):
    assert mailbox(sender) == shown


def test_durations_have_one_unit() -> None:
    spans = {1: "1 second", 89: "89 seconds", 90: "2 minutes", 90 * 60: "2 hours"}
    assert {seconds: duration(seconds) for seconds in spans} == spans
    late = {59: "", 60: "60 seconds", 720: "12 minutes", 7200: "2 hours", 172_800: "2 days"}
    assert {s: late_duration(s) for s in late} == late
