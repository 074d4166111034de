"""Text is readable in any colour that an author picks; settings choose the header."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from delivery.mail.colours_and_typefaces import (
    DARK_PAPER,
    ENOUGH,
    LIGHT_PAPER,
    ON_DARK_ACCENT,
    ON_LIGHT_ACCENT,
    accent_for,
    contrast,
    look_of,
)
from delivery.models import Newsletter
from delivery.models.newsletter import PIGEON_BLUE

COLOURS = st.integers(0, 0xFFFFFF).map("#{:06x}".format)


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@given(COLOURS)
@example("#ffffff")
@example("#000000")
@example("#ffff00")
@example("#0000ff")
def test_every_accent_can_be_read_in_light_and_dark(colour: str) -> None:
    accent = accent_for(colour)
    for one in (accent.light, accent.light_deep):
        assert all(contrast(one, paper) >= ENOUGH for paper in (*LIGHT_PAPER, ON_LIGHT_ACCENT))
    for one in (accent.dark, accent.dark_deep):
        assert all(contrast(one, paper) >= ENOUGH for paper in (*DARK_PAPER, ON_DARK_ACCENT))


def test_a_readable_accent_is_kept_exactly() -> None:
    assert accent_for(PIGEON_BLUE).light == PIGEON_BLUE
    assert accent_for("#7cc3d4").dark == "#7cc3d4"


@pytest.mark.parametrize(
    ("header", "logo", "shown"),
    [
        ("name", "/pictures/x.png", (True, False)),
        ("logo", "/pictures/x.png", (False, True)),
        ("both", "/pictures/x.png", (True, True)),
        ("logo", "", (True, False)),
    ],
)
def test_header_shows_the_choice_or_the_name(
    header: str, logo: str, shown: tuple[bool, bool]
) -> None:
    look = look_of(Newsletter(header=header, logo=logo, logo_width=9, logo_height=9))
    assert (look.shows_name, look.shows_logo) == shown


@pytest.mark.parametrize(
    ("stored", "shown"),
    [((600, 120), (200, 40)), ((600, 600), (80, 80)), ((90, 30), (90, 30)), ((600, 1), (200, 1))],
)
def test_logo_is_reduced_and_never_enlarged(
    stored: tuple[int, int], shown: tuple[int, int]
) -> None:
    look = look_of(
        Newsletter(header="logo", logo="/x.png", logo_width=stored[0], logo_height=stored[1])
    )
    assert (look.logo_width, look.logo_height) == shown


@pytest.mark.parametrize(
    ("language", "start"), [("en", "left"), ("pt-PT", "left"), ("ar", "right"), ("he-IL", "right")]
)
def test_lines_begin_where_the_language_begins(language: str, start: str) -> None:
    assert look_of(Newsletter(language=language)).start == start
