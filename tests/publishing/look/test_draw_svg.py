"""An SVG becomes a PNG of limited size; elements that no logo needs are refused."""

import io
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from PIL import Image

from publishing.images.resize_image import UnusableImageError
from publishing.look import svg_program
from publishing.look.draw_svg import HEIGHT, MOST_BYTES, MOST_ELEMENTS, WIDTH, draw_svg

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
        (b'<?xml version="1.0" encoding="UTF-7"?><svg', "no complete SVG"),
        (b'<?xml version="1.0" encoding="unknown"?><svg', "no complete SVG"),
        (b'<?xml version="1.0" encoding="latin-1"?><svg a="\xe9"/>', "no complete SVG"),
        # These files are refused, because the renderer also draws elements without a namespace.
        (b'<svg viewBox="0 0 9 9"><image href="/etc/passwd"/></svg>', "“svg” in this file is out"),
        (svg('<image xmlns="" href="/etc/passwd"/>'), "“image” in this file is outside"),
        (svg('<x:a xmlns:x="urn:x"><rect xmlns=""/></x:a>'), "“rect” in this file is outside"),
        (b'<svg xmlns="urn:x"/>', "“svg” in this file is outside"),
        (b'<g xmlns="http://www.w3.org/2000/svg"/>', "“g” in this file is outside"),
        (svg('<x:a xmlns:x="urn:x"><image href="a.png"/></x:a>'), "contains “image”"),
        # For these files, the renderer needs more than its limits allow, so the renderer is ended.
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


DRAW_UNCHECKED = """
import sys
from publishing.look import svg_program
if sys.argv[1] == "limited":
    svg_program.give_up_rights()
sys.stdout.buffer.write(svg_program.draw(sys.stdin.read(), 100, 100))
"""
PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
viewBox="0 0 10 10"><image {} width="10" height="10"/></svg>"""


def drawn_unchecked(drawing: str, rights: str) -> tuple[int, ...]:
    done = subprocess.run(
        [sys.executable, "-c", DRAW_UNCHECKED, rights],
        cwd=settings.BASE_DIR, input=drawing.encode(), capture_output=True, check=True,
    )  # fmt: skip
    return tuple(Image.open(io.BytesIO(done.stdout)).convert("RGBA").getpixel((50, 50)))


def test_the_drawing_program_reads_no_file_of_the_server(tmp_path: Path) -> None:
    file = tmp_path / "secret.png"
    Image.new("RGB", (9, 9), "red").save(file)
    (tmp_path / "secret.svg").write_bytes(svg(box="0 0 9 9"))
    for attribute in (
        f'href="{file}"',
        f'xlink:href="{file}"',
        f'href="../{"../" * 20}{file}"',
        f'xml:base="{tmp_path}/" href="secret.png"',
        f'href="{tmp_path}/secret.svg"',
    ):
        assert drawn_unchecked(PICTURE.format(attribute), "limited") == (0, 0, 0, 0)
    # Without the limit on open files, the program would read `file` and draw it.
    assert drawn_unchecked(PICTURE.format(f'href="{file}"'), "unlimited") == (255, 0, 0, 255)


def test_a_drawing_of_endless_dashes_is_stopped() -> None:
    dashes = "".join(
        f'<path d="M0 {y % 20} H100" stroke="red" stroke-dasharray=".001"/>' for y in range(1900)
    )
    done = subprocess.run(
        [sys.executable, "-I", svg_program.__file__, "100", "100"],
        input=svg(dashes), capture_output=True, check=False, timeout=30,
    )  # fmt: skip
    assert done.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
