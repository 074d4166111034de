"""What every page shares: templates, the frame around the content, tables and sections."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from postmark_sandbox.http.response import HTML, Response
from postmark_sandbox.sandbox import Sandbox

# Not `static`: the site would collect it beside its own files of the same names.
PAGE_FILES = Path(__file__).parent / "page_files"
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
NAVIGATION = {
    "Messages": "/",
    "Suppressions": "/suppressions",
    "Faults": "/faults",
    "Calls": "/calls",
}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


NOTHING = Markup("")


class Templates:
    """The templates of one HTML file, each below a line `<!-- name -->`."""

    def __init__(self, file: str) -> None:
        parts = re.split(r"^<!-- (\w+) -->\n", (PAGE_FILES / file).read_text(), flags=re.MULTILINE)
        self._by_name = dict(zip(parts[1::2], parts[2::2], strict=True))

    def __call__(self, name: str, /, **values: object) -> Markup:
        """A template with `{names}` replaced by the values, escaped unless they are markup."""
        safe = {k: v if isinstance(v, Markup) else escape(str(v)) for k, v in values.items()}
        return Markup(self._by_name[name].removesuffix("\n").format(**safe))


render = Templates("layout.html")


def joined(parts: Iterable[Markup]) -> Markup:
    """Pieces of markup, each on its own line."""
    return Markup("\n".join(parts))


def counted(number: int, one: str, many: str = "") -> str:
    """`1 message`, `41,412 messages`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def attribute_if(condition: bool, attribute: str) -> Markup:
    return Markup(f" {attribute}") if condition else NOTHING


def glyph(name: str, look: str = "") -> Markup:
    """A sign of the page. It stands beside a word, so it is hidden from screen readers."""
    return render("glyph", look=look, name=name)


def with_glyph(name: str, look: str, text: str) -> Markup:
    return render("with_glyph", glyph=glyph(name, look), text=text)


def state(mark: str, look: str, word: object) -> Markup:
    """A sign and the word beside it."""
    return render("state", look=look, glyph=glyph(mark), word=word)


def quiet(text: str) -> Markup:
    return render("quiet", text=text)


def error_note(text: str) -> Markup:
    return render("error_note", text=text) if text else NOTHING


def options(labels: Mapping[str, str], chosen: str) -> Markup:
    """The options of a select, by value."""
    return joined(
        render("option", value=v, label=label, selected=attribute_if(v == chosen, "selected"))
        for v, label in labels.items()
    )


def head(title: str, sentence: str, more: Markup = NOTHING) -> Markup:
    return render("head", title=title, sentence=sentence, more=more)


def section(id_: str, heading: str, note: str, content: Markup) -> Markup:
    return render("section", id=id_, heading=heading, note=note, content=content)


def table(
    label: str,
    columns: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[object]],
    header: int = 0,
) -> Markup:
    """A table. `columns` are headings and classes; `header` is the column that names the row."""
    filled = []
    for row in rows:
        cells = [render("cell", cell=cell, look=columns[at][1]) for at, cell in enumerate(row)]
        cells[header] = render("row_header", cell=row[header])
        filled.append(render("row", cells=joined(cells)))
    headings = joined(render("column_header", text=text, look=look) for text, look in columns)
    return render("table", label=label, headings=headings, rows=joined(filled))


def framed(sandbox: Sandbox, place: str, content: Markup, status: int = 200) -> Response:
    """A page of the sandbox; `place` is its part of the navigation."""
    page = render(
        "frame",
        title=place,
        links=joined(
            render("link", href=h, current=attribute_if(n == place, 'aria-current="page"'), name=n)
            for n, h in NAVIGATION.items()
        ),
        back=render("back", href=sandbox.desk_url) if sandbox.desk_url else NOTHING,
        port=sandbox.url.rpartition(":")[2],
        content=content,
    )
    return html_response(page, POLICY, "same-origin", status)


def html_response(html: str, policy: str, referrer: str, status: int = 200) -> Response:
    headers = {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": referrer,
        "Cache-Control": "no-store",
    }
    return Response(status, html.encode("utf-8", "replace"), HTML, headers)
