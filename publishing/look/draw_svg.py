"""Draw a logo's SVG as PNG, in a separate process with limits on memory and time.

Only the PNG is kept, so no element of an uploaded SVG reaches a page. The process cannot open
files, so even an element that the check misses cannot read a file.
"""

import subprocess
import sys
from pathlib import Path
from xml.parsers import expat

from django.utils.translation import gettext as _

from publishing.images.resize_image import UnusableImageError

MOST_BYTES = 200_000
MOST_ELEMENTS = 2_000
# Width and height of the PNG in pixels. With three times the size of the largest logo in a letter,
# the logo is sharp on high-resolution screens.
WIDTH, HEIGHT = 600, 240
LONGEST_S = 6
_SVG = "http://www.w3.org/2000/svg"
_SHAPES = frozenset(
    [
        *("svg", "g", "defs", "style", "title", "desc", "metadata"),
        *("path", "rect", "circle", "ellipse", "line", "polyline", "polygon"),
        *("linearGradient", "radialGradient", "stop", "clipPath"),
    ]
)
_PROGRAM = Path(__file__).with_name("svg_program.py")


def draw_svg(file: bytes) -> bytes:
    """Draw an SVG file; return the PNG. Raises `UnusableImageError`."""
    if len(file) > MOST_BYTES:
        raise UnusableImageError(
            _("This SVG is larger than 200 kB. Simplify the drawing, or choose a PNG.")
        )
    _check(file)
    try:
        drawn = subprocess.run(
            [sys.executable, "-I", str(_PROGRAM), str(WIDTH), str(HEIGHT)],
            input=file,
            capture_output=True,
            cwd="/",
            env={},  # empty, because this process's environment has passwords
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        drawn = None
    if drawn is None or drawn.returncode:
        raise UnusableImageError(
            _("This SVG could not be drawn. Save it as plain SVG, or choose a PNG.")
        )
    return drawn.stdout


def _check(file: bytes) -> None:
    """Refuse an SVG with text, images, scripts, filters or entities."""
    # Ignore the encoding that the file declares: the drawing program reads every file as UTF-8.
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")
    elements = 0

    def refuse_doctype(*_args: object) -> None:
        raise UnusableImageError(
            _("This SVG has a document type (DOCTYPE). Save it as plain SVG, or choose a PNG.")
        )

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal elements
        elements += 1
        if elements > MOST_ELEMENTS:
            raise UnusableImageError(
                _("This SVG has more than 2,000 shapes. Simplify the drawing, or choose a PNG.")
            )
        space, _blank, local = name.rpartition(" ")
        if not space or (elements == 1 and name != f"{_SVG} svg"):
            # Refuse elements without a namespace: the drawing program would draw them as SVG.
            raise UnusableImageError(
                _(
                    "“{element}” in this file is outside the namespace of SVG. Save it as plain "
                    "SVG, or choose a PNG."
                ).format(element=local[:30])
            )
        if space != _SVG:
            # Elements that editors such as Inkscape add are harmless: the drawing program ignores
            # them.
            return
        if local in ("text", "tspan", "textPath"):
            raise UnusableImageError(
                _("This SVG contains text. Convert text to paths and choose the new file.")
            )
        if local not in _SHAPES or not all(map(_is_inside, attributes.values())):
            raise UnusableImageError(
                _(
                    "This SVG contains “{element}”. A logo may have shapes, paths and gradients. "
                    "Save it as plain SVG, or choose a PNG."
                ).format(element=local[:30])
            )

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = begin
    try:
        parser.Parse(file, True)
    except expat.ExpatError:
        raise UnusableImageError(
            _("This file is no complete SVG. Save it again, or choose a PNG.")
        ) from None


def _is_inside(value: str) -> bool:
    """Whether an attribute's value refers to nothing outside the file."""
    return "://" not in value or value.startswith("http://www.w3.org/")
