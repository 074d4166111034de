"""The results of an issue, compared with those of earlier issues."""

from datetime import UTC, datetime, timedelta
from typing import Any

from delivery.reports.load_edition_results import EditionResults
from publishing.progress.result_sentences import COMPARED_AFTER, result_rows

AT = datetime(2026, 5, 4, 14, 0, tzinfo=UTC)
LATER = AT + COMPARED_AFTER


def results(**counts: int) -> EditionResults:
    values: dict[str, Any] = dict.fromkeys(("bounced", "complained", "unsubscribed"), 0)
    return EditionResults(edition=1, published_at=AT, **{**values, "sent": 1000, **counts})


def comparisons(*all_results: EditionResults, now: datetime = LATER) -> dict[str, str]:
    return {row.name: row.comparison for row in result_rows(all_results, now)}


def test_share_within_the_earlier_ones_is_like_them() -> None:
    earlier = [results(delivered=979), results(delivered=986), results(delivered=980)]
    row = result_rows([results(delivered=982), *earlier], LATER)[0]
    assert (row.label, row.number, row.share) == ("Delivered", 982, "98.2 %")
    assert row.comparison == "like the last 3 issues (97.9 to 98.6 %)"


def test_share_outside_the_earlier_ones_is_more_or_less() -> None:
    shown = results(delivered=900, complained=1, unsubscribed=0)
    found = comparisons(shown, results(delivered=990, unsubscribed=2))
    assert found == {
        "delivered": "less than the issue before (99.0 %)",
        "bounced": "like the issue before (0.0 %)",
        "complained": "more than the issue before (0.00 %)",
        "unsubscribed": "less than the issue before (0.2 %)",
    }


def test_an_early_reading_is_not_judged() -> None:
    shown, before = results(delivered=500), results(delivered=990)
    early = comparisons(shown, before, now=LATER - timedelta(seconds=1))
    assert early["delivered"] == "so far; the issue before: 99.0 %"


def test_missing_webhooks_are_named_and_compared_with_nothing() -> None:
    silent, heard = results(delivered=0), results(delivered=990)
    assert "webhook" in comparisons(silent, heard)["delivered"]
    assert comparisons(heard, silent)["delivered"] == ""


def test_issues_without_sent_copies_show_and_compare_nothing() -> None:
    nothing, some = results(sent=0, delivered=0), results(delivered=990)
    assert result_rows([nothing, some], LATER) == []
    assert set(comparisons(some, nothing).values()) == {""}
