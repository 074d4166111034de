"""What every page shares: escaping, the frame around the content, tables and sections."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from postmark_sandbox.http.response import HTML, Response
from postmark_sandbox.sandbox import Sandbox

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
        PAGE,
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
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}: sandbox inbox</title>
<link rel="icon" href="/static/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/homing.css">
<link rel="stylesheet" href="/static/sandbox.css">
</head>
<body>
<svg width="0" height="0" aria-hidden="true" class="hide"><defs>
<symbol id="pigeon" viewBox="0 0 32 32"><path fill="currentColor" fill-rule="evenodd" \
d="M1.2 24.6 15.4 13.6c1.7-1.3 1.9-2.9 2.1-4.8.3-3 2.3-5.3 5.1-5.3 2.4 0 4.2 1.5 4.8 3.7l3.4 \
2.2-3 1c.7 1.7 1.1 3.6 1.1 5.5 0 7-5.5 11.6-12.7 11.6H9.6l-6 1.6zM9.6 23.2h4.6c5.3 0 9-3.5 \
9.2-9z"/></symbol>
<symbol id="sent" viewBox="0 0 16 16"><circle class="f" cx="8" cy="8" r="7"/>\
<path class="k" d="m4.7 8.3 2.3 2.3 4.3-5"/></symbol>
<symbol id="waiting" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6"/></symbol>
<symbol id="unknown" viewBox="0 0 16 16"><path d="M8 1.3 14.7 8 8 14.7 1.3 8z"/>\
<path d="M6.2 6.6c.1-2.4 3.7-2.3 3.5-.1C9.6 7.9 8 7.7 8 9.3m0 1.3v1.3"/></symbol>
<symbol id="failed" viewBox="0 0 16 16"><path class="f" d="M5 1h6l4 4v6l-4 4H5l-4-4V5z"/>\
<path class="k" d="m5.3 5.3 5.4 5.4m0-5.4-5.4 5.4"/></symbol>
<symbol id="withdrawn" viewBox="0 0 16 16"><path d="M6 3 2.5 6.5 6 10M3 6.5h6.5a3.5 3.5 0 0 1 0 \
7H6"/></symbol>
<symbol id="attention" viewBox="0 0 16 16"><path class="f" d="M8 1 15.5 14.5H.5z"/>\
<path class="k" d="M8 5.5v4.3m0 1.2v1.5"/></symbol>
</defs></svg>
<a class="skip" href="#main">To the content</a>
<aside class="band" aria-label="Sandbox"><b>Sandbox.</b> A stand-in for Postmark on this machine. \
Nothing here leaves it; no reader gets any of this.</aside>
<header class="mast"><a class="brand" href="/"><svg aria-hidden="true"><use href="#pigeon"/></svg>\
Sandbox inbox</a>
<nav aria-label="Sandbox"><ul>
{links}
</ul></nav><div class="who">{back}Port {port}</div></header>
<main id="main">
{content}
</main>
</body>
</html>
"""
