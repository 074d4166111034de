"""What every page shares: escaping, the frame around the content, tables and sections."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from postmark_sandbox.http.response import HTML, Response
from postmark_sandbox.sandbox import Sandbox

# Not `static`: the site would collect it beside its own files of the same names.
PAGE_FILES = Path(__file__).parent / "page_files"
FRAME = (PAGE_FILES / "frame.html").read_text()
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


def fill(template: str, **values: object) -> Markup:
    """The template with `{names}` replaced by the values, escaped unless they are markup."""
    return Markup(template.format(**{name: _safe(value) for name, value in values.items()}))


def joined(parts: Iterable[Markup]) -> Markup:
    """Pieces of markup, each on its own line."""
    return Markup("\n".join(parts))


def counted(number: int, one: str, many: str = "") -> str:
    """`1 message`, `41,412 messages`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def glyph(name: str, look: str = "") -> Markup:
    """A sign of the page. It stands beside a word, so it is hidden from screen readers."""
    template = '<svg class="glyph {look}" aria-hidden="true"><use href="#{name}"/></svg>'
    return fill(template, look=look, name=name)


def with_glyph(name: str, look: str, text: str) -> Markup:
    return fill("{glyph} {text}", glyph=glyph(name, look), text=text)


def state(mark: str, look: str, word: str) -> Markup:
    """A sign and the word beside it."""
    template = '<span class="state {look}">{glyph}{word}</span>'
    return fill(template, look=look, glyph=glyph(mark), word=word)


def quiet(text: str) -> Markup:
    return fill('<p class="quiet">{text}</p>', text=text)


def error_note(text: str) -> Markup:
    return (
        fill('<p class="error" id="wrong" role="alert">{text}</p>', text=text) if text else NOTHING
    )


def options(labels: Mapping[str, str], chosen: str) -> Markup:
    """The options of a select, by value."""
    template = '<option value="{value}"{selected}>{label}</option>'
    return joined(
        fill(
            template, value=value, selected=attribute_if(value == chosen, " selected"), label=label
        )
        for value, label in labels.items()
    )


def head(title: str, sentence: str, more: Markup = NOTHING) -> Markup:
    return fill(HEAD, title=title, sentence=sentence, more=more)


def section(id_: str, heading: str, note: str, content: Markup) -> Markup:
    return fill(SECTION, id=id_, heading=heading, note=note, content=content)


def table(
    label: str,
    columns: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[object]],
    header: int = 0,
) -> Markup:
    """A table. `columns` are headings and classes; `header` is the column that names the row."""
    headings = (fill(HEADING, text=text, look=look) for text, look in columns)
    return fill(
        TABLE,
        label=label,
        headings=joined(headings),
        rows=joined(_row(row, [look for _, look in columns], header) for row in rows),
    )


def _row(cells: Sequence[object], looks: list[str], header: int) -> Markup:
    filled = [
        fill('<th scope="row">{cell}</th>' if at == header else CELL, cell=cell, look=look)
        for at, (cell, look) in enumerate(zip(cells, looks, strict=True))
    ]
    return fill("<tr>{cells}</tr>", cells=joined(filled))


def framed(sandbox: Sandbox, place: str, content: Markup, status: int = 200) -> Response:
    """A page of the sandbox; `place` is its part of the navigation."""
    links = (
        fill(
            '<li><a href="{href}"{current}>{name}</a></li>',
            href=href,
            current=attribute_if(name == place, ' aria-current="page"'),
            name=name,
        )
        for name, href in NAVIGATION.items()
    )
    back = fill('<a href="{href}">Back to the desk</a> ', href=sandbox.desk_url)
    page = fill(
        FRAME,
        title=place,
        links=joined(links),
        back=back if sandbox.desk_url else NOTHING,
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


def _safe(value: object) -> str:
    return value if isinstance(value, Markup) else escape(str(value))


def attribute_if(condition: bool, attribute: str) -> Markup:
    return Markup(attribute) if condition else NOTHING


HEAD = """<header class="head"><h1>{title}</h1><p class="lede">{sentence}</p>{more}</header>"""
SECTION = """<section class="sec" aria-labelledby="{id}"><header><h2 id="{id}">{heading}</h2>
<p class="small quiet">{note}</p></header>
{content}</section>"""
TABLE = """<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table class="grid">
<thead><tr>{headings}</tr></thead><tbody>
{rows}
</tbody></table></div>"""
HEADING = '<th scope="col" class="{look}">{text}</th>'
CELL = '<td class="{look}">{cell}</td>'
