"""An SVG becomes a bounded PNG, and what a logo does not need is refused."""

import io
import re

import pytest
from PIL import Image

from publishing.images.resize_image import UnusableImageError
from publishing.settings.draw_svg import HEIGHT, MOST_BYTES, MOST_ELEMENTS, WIDTH, draw_svg

pytestmark = pytest.mark.process

RECT = '<rect width="99" height="99" fill="#c00"/>'


def svg(content: str = RECT, *, box: str = "0 0 100 20", before: str = "") -> bytes:
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f'{before}<svg {names} viewBox="{box}">{content}</svg>'.encode()


@pytest.mark.parametrize(
    ("box", "size"), [("0 0 100 20", (WIDTH, 120)), ("0 0 20 100", (48, HEIGHT))]
)
def test_drawing_fills_the_largest_size_of_a_logo(box: str, size: tuple[int, int]) -> None:
    drawn = Image.open(io.BytesIO(draw_svg(svg(box=box))))
    assert (drawn.format, drawn.size) == ("PNG", size)
    assert drawn.convert("RGB").getpixel((5, 5)) == (204, 0, 0)


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        (svg("<text>x</text>"), "Convert text to paths"),
        (svg('<image xlink:href="file:///etc/passwd"/>'), "contains “image”"),
        (svg("<script>1</script>"), "contains “script”"),
        (svg("<foreignObject/>"), "contains “foreignObject”"),
        (svg("<filter/>"), "contains “filter”"),
        (svg('<use xlink:href="#a"/>'), "contains “use”"),
        (svg('<rect fill="url(https://x.example/a)"/>'), "contains “rect”"),
        (svg(before='<!DOCTYPE svg [<!ENTITY a "b">]>'), "DOCTYPE"),
        (svg(RECT * MOST_ELEMENTS), "more than 2,000 shapes"),
        (svg(f"<!--{'x' * MOST_BYTES}-->"), "larger than 200 kB"),
        (b"<svg", "no complete SVG"),
        # The process that draws ends at its limits.
        (svg(box="0 0 1 100000"), "could not be drawn"),
        (
            svg(
                "".join(
                    f'<clipPath id="c{n}" clip-path="url(#c{n - 1})">{RECT}</clipPath>'
                    for n in range(600)
                )
                + '<rect width="9" height="9" clip-path="url(#c599)"/>' * 600
            ),
            "could not be drawn",
        ),
    ],
)
def test_hostile_or_unfit_drawing_is_refused(file: bytes, sentence: str) -> None:
    with pytest.raises(UnusableImageError, match=re.escape(sentence)):
        draw_svg(file)
