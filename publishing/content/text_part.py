"""Make the plain text of a letter from its HTML, in linear time."""

import re
from dataclasses import dataclass, field
from html import unescape

import nh3

from delivery.mail.field_placeholders import FieldPlaceholders
from delivery.mail.letter_addresses import missing_before
from delivery.mail.normalise_html import VOID, normalise, parse_attributes, split_tags

# A number of characters. Mail programs would wrap the lines of wider tables.
WIDEST_TABLE = 78
# Lists and quotes that are nested deeper than this are not indented further.
DEEPEST = 4

_HEADINGS = {"h1": "=", "h2": "-"}
_LONGEST_UNDERLINE = 60
_BLOCKS = {
    "address", "article", "aside", "blockquote", "caption", "center", "dd", "details", "dialog",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hgroup", "hr", "legend", "li", "main", "menu", "nav", "ol", "p", "pre",
    "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
}  # fmt: skip
_INLINE = {"a", "br", "del", "img", "q", "s", "span", "strike", "sup"}
_SHAPING = _BLOCKS | _INLINE | {"style"}
_ATTRIBUTES = {
    "*": {"style", "hidden"},
    "a": {"href"},
    "img": {"alt"},
    "ol": {"start"},
    "td": {"class", "align"},
    "th": {"class", "align"},
}
_SCHEMES = {"http", "https", "mailto", "tel", "sms", "ftp", "webcal", "geo", "xmpp", "whatsapp"}
_MARKS = {"del": ("~~", "~~"), "s": ("~~", "~~"), "strike": ("~~", "~~"), "q": ("“", "”")}

_TAG_OR_COMMENT = re.compile(
    r"""<!--.*?-->|</?([a-z][^\s/>]*+)(?>(?:[^>"']|"[^"]*+"|'[^']*+')*)>""", re.DOTALL
)
_BACK_LINKS = {"\u21a9", "\u21a9\ufe0e"}
_BLANKS = re.compile(r"[ \t\n\r\f]+")
# Encode spaces and drop line ends in addresses, as browsers do. In a plain text, a space would end
# the address.
_AS_BROWSERS = str.maketrans({" ": "%20", "\t": None, "\n": None, "\r": None})
_HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|mso-hide\s*:\s*all)", re.IGNORECASE)


def html_to_text(html: str, site_url: str = "") -> str:
    """Convert a fragment or a complete document of HTML to plain text.

    Addresses of links that begin with a slash get `site_url` before the slash. Braces that belong
    to the text are escaped, so that they do not become merge fields.
    """
    placeholders = FieldPlaceholders(html)
    clean = nh3.clean(
        _TAG_OR_COMMENT.sub(_keep_shaping_tag, normalise(placeholders.text)),
        tags=_BLOCKS | _INLINE,
        clean_content_tags={"script", "style", "title"},
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel=None,
    )
    writer = _Writer(placeholders, site_url)
    for words, tag, rest in split_tags(clean):
        writer.take(words, tag, rest)
    return placeholders.restore(placeholders.escape_braces(writer.text()), _in_text)


def _keep_shaping_tag(tag: re.Match[str]) -> str:
    """Keep tags that shape the text; drop other tags, but not the text within them."""
    return tag[0] if tag[1] in _SHAPING else ""


def _in_text(placeholder: str) -> str:
    """Return a merge field, with its fallback turned from HTML into plain text."""
    name, bar, fallback = placeholder.partition("|")
    if not bar or not ("<" in fallback or "&" in fallback):
        return placeholder
    words = unescape(nh3.clean(fallback.removesuffix("}}"), tags=set()))
    return f"{name}|{words.translate({ord('{'): None, ord('}'): None})}}}}}"


@dataclass(slots=True)
class _Container:
    first: str
    rest: str


@dataclass(slots=True)
class _Page:
    lines: list[str] = field(default_factory=list)
    containers: list[_Container] = field(default_factory=list)
    gap: bool = False
    """True if a blank line comes before the next block."""
    shared: int = 0
    """The number of containers that have stayed open since the last block."""

    def put(self, block: list[str]) -> None:
        if self.lines and self.gap:
            self.lines.append("".join(one.rest for one in self.containers[: self.shared]).rstrip())
        for line in block:
            self.lines.append(f"{''.join(map(self._before, self.containers))}{line}".rstrip())
        self.gap, self.shared = True, len(self.containers)

    @staticmethod
    def _before(container: _Container) -> str:
        before, container.first = container.first, container.rest
        return before

    def enter(self, first: str, rest: str) -> None:
        if len(self.containers) >= DEEPEST:
            first = rest = ""
        self.containers.append(_Container(first, rest))

    def leave(self) -> None:
        if self.containers:
            self.containers.pop()
            self.shared = min(self.shared, len(self.containers))


@dataclass(slots=True)
class _Cell:
    lines: list[str]
    heads: bool
    right: bool


@dataclass(slots=True)
class _List:
    """A list; `number` is the number of its next item, None for bullets."""

    number: int | None
    begun: bool = False


class _Writer:
    def __init__(self, placeholders: FieldPlaceholders, site_url: str) -> None:
        self._placeholders = placeholders
        self._site_url = site_url
        self._pages = [_Page()]
        self._words: list[list[str]] = [[]]
        self._lists: list[_List] = []
        self._links: list[tuple[str, int, int]] = []
        self._raised: list[tuple[int, int]] = []
        self._is_note = False  # True within a link that leads to a footnote.
        self._tables: list[list[list[_Cell]]] = []
        self._blocks = 0
        self._hidden = 0
        self._kept_as_is = 0

    def text(self) -> str:
        self._block_ends()
        return "\n".join(self._pages[0].lines).strip("\n")

    def take(self, words: str, tag: str, rest: str) -> None:
        """Process some text and the tag after it."""
        if words and not self._hidden:
            self._words[-1].append(words)
        if tag.startswith("/"):
            self._tag_ends(tag[1:])
        elif tag:
            self._tag_begins(tag, parse_attributes(rest) if rest else {})

    def _block_ends(self) -> None:
        self._blocks += 1
        if self._words == [[]]:
            return
        raw = ["".join(words) for words in self._words]
        self._words = [[]]
        if self._kept_as_is:
            lines = [f"    {line}" for part in raw for line in part.strip("\n").split("\n")]
        else:
            lines = [_one_line(part) for part in raw]
        filled = [place for place, line in enumerate(lines) if line.strip()]
        if filled:
            self._pages[-1].put(lines[filled[0] : filled[-1] + 1])

    def _tag_begins(self, tag: str, attributes: dict[str, str]) -> None:
        if self._hidden or "hidden" in attributes or _HIDDEN.search(attributes.get("style", "")):
            self._hidden += tag not in VOID
            return
        if tag in _BLOCKS:
            self._block_ends()
        page = self._pages[-1]
        match tag:
            case "br":
                self._words.append([])
            case "hr":
                page.put(["* * *"])
            case "img":
                self._words[-1].append(attributes.get("alt", ""))
            case "pre":
                self._kept_as_is += 1
            case "a":
                href = attributes.get("href", "")
                address = "" if href.startswith("#") else href.strip().translate(_AS_BROWSERS)
                address = missing_before(address, self._site_url) + address
                self._links.append((address, self._blocks, len(self._words[-1])))
                self._is_note = href.startswith("#")
            case "sup":
                self._raised.append((self._blocks, len(self._words[-1])))
                self._is_note = self._is_note and bool(self._links)
            case "blockquote":
                page.enter("> ", "> ")
            case "dd":
                page.gap = False
                page.enter("    ", "    ")
            case "ul":
                self._begin_list(None)
            case "ol":
                start = attributes.get("start", "")
                self._begin_list(int(start) if re.fullmatch(r"[0-9]{1,9}", start) else 1)
            case "li":
                self._begin_item()
            case "table":
                self._tables.append([])
            case "tr" if self._tables:
                self._tables[-1].append([])
            case "td" | "th":
                self._begin_cell(attributes, heads=tag == "th")
            case _ if tag in _MARKS:
                self._words[-1].append(_MARKS[tag][0])

    def _tag_ends(self, tag: str) -> None:
        if self._hidden:
            self._hidden -= tag not in VOID
            return
        if tag in _HEADINGS:
            self._underline(_HEADINGS[tag])
        if tag in _BLOCKS:
            self._block_ends()
        match tag:
            case "pre":
                self._kept_as_is -= 1
            case "a":
                self._end_link()
            case "sup" if self._raised:
                self._end_raised(*self._raised.pop())
            case "blockquote" | "dd" | "li":
                self._pages[-1].leave()
            case "ul" | "ol" if self._lists:
                self._lists.pop()
            case "td" | "th" if len(self._pages) > 1:
                self._pages.pop()
            case "table" if self._tables:
                for block in self._lay_out([row for row in self._tables.pop() if row]):
                    self._pages[-1].put(block)
            case _ if tag in _MARKS:
                self._words[-1].append(_MARKS[tag][1])

    def _underline(self, sign: str) -> None:
        words = _one_line("".join("".join(line) for line in self._words))
        if words:
            self._words.append([sign * min(self._width(words), _LONGEST_UNDERLINE)])

    def _end_link(self) -> None:
        address, blocks, mark = self._links.pop() if self._links else ("", 0, 0)
        whole = blocks == self._blocks and len(self._words[-1]) >= mark
        label = _one_line("".join(self._words[-1][mark:])) if whole else ""
        if not address:
            # Drop the arrow after a footnote that leads back to the text.
            if label in _BACK_LINKS:
                del self._words[-1][mark:]
            return
        shown, target = map(self._placeholders.restore, (label, address))
        if _strip_scheme(shown) == _strip_scheme(target) or (whole and not label):
            # Keep `mailto:` if a subject follows the address: without `mailto:`, mail programs do
            # not understand `?subject=`.
            bare = address if "?" in address else address.removeprefix("mailto:")
            self._words[-1][mark:] = [bare]
        else:
            self._words[-1].append(f" ({address})")

    def _end_raised(self, blocks: int, mark: int) -> None:
        """Put a footnote's number in brackets, because plain text has no superscript."""
        if self._is_note and blocks == self._blocks and len(self._words[-1]) >= mark:
            label = "".join(self._words[-1][mark:]).strip()
            if label.isdecimal():
                self._words[-1][mark:] = [f"[{label}]"]

    def _begin_list(self, number: int | None) -> None:
        if self._lists:
            self._pages[-1].gap = False
        self._lists.append(_List(number))

    def _begin_item(self) -> None:
        here = self._lists[-1] if self._lists else _List(None)
        if here.begun:
            self._pages[-1].gap = False
        here.begun = True
        sign = "- " if here.number is None else f"{here.number}. "
        if here.number is not None:
            here.number += 1
        self._pages[-1].enter(sign, " " * len(sign))

    def _begin_cell(self, attributes: dict[str, str], *, heads: bool) -> None:
        self._pages.append(_Page())
        right = "num" in attributes.get("class", "").split() or attributes.get("align") == "right"
        if self._tables:
            rows = self._tables[-1] or [[]]
            rows[-1].append(_Cell(self._pages[-1].lines, heads, right))
            self._tables[-1] = rows

    def _lay_out(self, rows: list[list[_Cell]]) -> list[list[str]]:
        """Return the rows in columns if they fit, otherwise one cell below the other."""
        columns = max(map(len, rows), default=0)
        cells = [cell for row in rows for cell in row]
        if columns < 2 or any(len(cell.lines) > 1 for cell in cells):
            return [cell.lines for cell in cells if cell.lines]
        texts = [["".join(cell.lines) for cell in row] for row in rows]
        widths = [
            max(self._width(row[column]) for row in texts if column < len(row))
            for column in range(columns)
        ]
        if sum(widths) + 2 * (columns - 1) > WIDEST_TABLE:
            if not any(cell.heads for cell in cells):
                return [cell.lines for cell in cells if cell.lines]
            return [[" | ".join(words for words in row if words) for row in texts]]
        lines = []
        for place, (row, words) in enumerate(zip(rows, texts, strict=True)):
            lines.append(
                "  ".join(
                    _padded(word, width - self._width(word), right=cell.right)
                    for cell, word, width in zip(row, words, widths, strict=False)
                )
            )
            if place == 0 and all(cell.heads for cell in row):
                lines.append("  ".join("-" * width for width in widths))
        return [lines]

    def _width(self, words: str) -> int:
        return len(self._placeholders.restore(words))


def _one_line(words: str) -> str:
    return _BLANKS.sub(" ", words).replace("\xa0", " ").strip()


def _padded(words: str, missing: int, *, right: bool) -> str:
    return " " * missing + words if right else words + " " * missing


def _strip_scheme(address: str) -> str:
    for scheme in ("mailto:", "https://", "http://"):
        address = address.removeprefix(scheme)
    return address.removesuffix("/").casefold()
