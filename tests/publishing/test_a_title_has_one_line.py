"""The title becomes a subject and the preheader stands beside it: a line each, in any script."""

from __future__ import annotations

import pytest

from publishing.content import Content, flaws_of

# Line feed, tab, delete, next line, line separator, paragraph separator.
BREAKS = ["\n", "\t", "\x7f", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("sign", BREAKS)
def test_a_title_of_more_than_a_line_is_refused(sign: str) -> None:
    [flaw] = flaws_of(Content.written(f"Swifts{sign}gone", "", "They have gone."))
    assert (flaw.field, "more than one line" in flaw.sentence) == ("title", True)


@pytest.mark.parametrize("sign", BREAKS)
def test_a_preheader_of_more_than_a_line_is_refused(sign: str) -> None:
    [flaw] = flaws_of(Content.written("Swifts", "", "They have gone.", f"Swifts{sign}gone"))
    assert (flaw.field, "more than one line" in flaw.sentence) == ("preheader", True)


@pytest.mark.parametrize(
    "title",
    ["Мауэрзеглер", "خبر\u200cنامه", "שלום \u2068Homing\u2069", "👩\u200d🌾 in May", "A\xa0B"],
)
def test_a_title_may_be_of_any_script(title: str) -> None:
    assert flaws_of(Content.written(title, "", "They have gone.")) == []
