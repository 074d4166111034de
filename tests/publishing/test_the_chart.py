"""Readers over time and what was not sent, as drawings: few, many, flat and huge."""

from __future__ import annotations

import re

import pytest

from publishing.chart import Chart, Point, Scale, chart_of, scale_of
from publishing.strips import NotSent, strips_of


def charted(*readers: int) -> Chart:
    chart = chart_of([Point(f"{number + 1} Jul", count) for number, count in enumerate(readers)])
    assert chart is not None
    return chart


def places(chart: Chart) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", chart.line)]


@pytest.mark.parametrize("readers", [[], [7]])
def test_fewer_than_two_points_are_no_chart(readers: list[int]) -> None:
    assert chart_of([Point("1 Jul", count) for count in readers]) is None


def test_the_first_stands_at_the_left_edge_and_the_last_at_the_right() -> None:
    chart = charted(48_310, 50_000, 52_418)
    assert chart.scale == Scale(47_500, 50_000, 52_500)
    assert [x for x, _ in places(chart)] == [0.0, 500.0, 1000.0]
    heights = [y for _, y in places(chart)]
    assert heights == sorted(heights, reverse=True)
    assert len(chart.dots) == 3
    assert chart.area == f"{chart.line} V100 H0z"


@pytest.mark.parametrize(
    ("readers", "scale"),
    [
        ([0, 0], Scale(0, 1, 2)),
        ([1, 1], Scale(0, 1, 2)),
        ([100, 100, 100], Scale(99, 100, 101)),
        ([0, 1], Scale(0, 1, 2)),
        ([3, 4], Scale(3, 4, 5)),
        ([0, 1_000_000], Scale(0, 500_000, 1_000_000)),
        ([9_999_999, 10_000_001], Scale(9_999_999, 10_000_000, 10_000_001)),
        ([12, 3_000_000_000], Scale(0, 2_000_000_000, 4_000_000_000)),
    ],
)
def test_the_scale_is_round_whole_and_holds_everything(readers: list[int], scale: Scale) -> None:
    assert scale_of(readers) == scale
    assert scale.middle - scale.low == scale.high - scale.middle > 0
    assert all(0 <= y <= 100 for _, y in places(charted(*readers)))


def test_the_change_is_said_with_the_issue_before_and_with_the_first() -> None:
    assert charted(48_310, 52_103, 52_418).change == (
        "315 more than on 2 Jul, 4,108 more than on 1 Jul."
    )
    assert charted(10, 7, 7).change == "As many as on 2 Jul, 3 fewer than on 1 Jul."
    assert charted(10, 20).words == "Confirmed readers rose from 10 on 1 Jul to 20 on 2 Jul"
    assert "fell from 20" in charted(20, 10).words
    assert "as many on 3 Jul" in charted(10, 20, 10).words
    assert {y for _, y in places(charted(500, 500, 500))} == {50.0}  # a flat line


@pytest.mark.parametrize(("points", "labels"), [(2, 2), (3, 3), (4, 4), (5, 3), (6, 2), (13, 4)])
def test_its_dates_stand_equally_far_apart_or_only_at_the_ends(points: int, labels: int) -> None:
    chart = charted(*range(points))
    assert len(chart.labels) == labels
    assert (chart.labels[0], chart.labels[-1]) == ("1 Jul", f"{points} Jul")


def test_a_date_stands_below_it_once_however_many_issues_it_had() -> None:
    def labels(*days: str) -> tuple[str, ...]:
        chart = chart_of([Point(day, number) for number, day in enumerate(days)])
        assert chart is not None
        return chart.labels

    assert labels("1 Jul", "1 Jul", "1 Jul", "now") == ("1 Jul", "", "", "now")
    # The others keep their places.
    assert labels("1 Jul", "1 Jul", "2 Jul", "now") == ("1 Jul", "", "2 Jul", "now")
    assert labels("1 Jul", "1 Jul") == ("1 Jul", "")


# --- What was not sent ----------------------------------------------------------------------------


def edition(suppressed: int = 0, withdrawn: int = 0, failed: int = 0) -> NotSent:
    return NotSent("14 Sep", "A storm", 52_266, suppressed, withdrawn, failed)


def widths(*editions: NotSent) -> list[list[float]]:
    return [[float(part.width[:-1]) for part in strip.parts] for strip in strips_of(editions)]


def test_the_longest_strip_is_the_whole_width_and_the_others_are_on_its_scale() -> None:
    assert widths(edition(59, 10, 3), edition(36)) == [[81.9, 13.9, 4.2], [50.0]]
    assert strips_of([]) == []
    assert widths(edition(), edition()) == [[], []]


def test_one_of_a_million_can_be_seen_and_nothing_grows_past_the_end() -> None:
    ((huge, one),) = widths(edition(suppressed=1_000_000, failed=1))
    assert one == 0.8
    assert huge + one == pytest.approx(100)


def test_a_strip_says_all_three_numbers() -> None:
    (strip,) = strips_of([edition(1059, 10)])
    assert strip.label == "14 Sep: suppressed 1,059, withdrawn 10, failed 0"
    assert (strip.total, strip.audience) == (1069, 52_266)
