"""A letter that the editor reads and writes keeps its Markdown and its meaning."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, Route

from publishing.content.markdown import render_markdown
from publishing.content.videos import VIDEO_ADDRESS

STATIC = Path(__file__).parents[3] / "static"
FORMATS = {"em", "strong", "s", "code", "a"}
NEWLY_WRITTEN = """async ([letter, video]) => {
    const { read, write } = await import("/composer/letter/markdown.js");
    const isVideo = (text) => new RegExp(`^(?:${video})$`, "i").test(text);
    const letters = read(letter, isVideo);
    // Copied nodes have no memory of how they were written.
    const copied = letters.type.schema.nodeFromJSON(letters.toJSON());
    const rewritten = write(copied, isVideo);
    const again = write(read(rewritten, isVideo), isVideo);
    return { kept: write(letters, isVideo), rewritten, again };
}"""

MOVED = """async ([first, second]) => {
    const { read, write } = await import("/composer/letter/markdown.js");
    const blocksOf = (letter) =>
        read(letter, () => false).children.filter((node) => node.type.name !== "as_written");
    const [one, other] = [blocksOf(first), blocksOf(second)];
    const every_second = one.toReversed().filter((_node, at) => at % 2 === 0);
    const moved = [...other, ...every_second, ...other.slice(1)];
    const plain = (node) => JSON.stringify(node.toJSON()).replace(/"marker":"."/g, "");
    const { schema } = await import("/composer/letter/schema.js");
    const written = write(schema.nodes.doc.create(null, moved), () => false);
    const found = read(written, () => false).children;
    return { written, moved: moved.map(plain), found: found.map(plain) };
}"""

WORDS = st.sampled_from(
    [
        "sea",
        "two words",
        "1986. Then",
        "1) no",
        "# no",
        "+ no",
        "a_b_c",
        "*",
        "**",
        "_",
        "`",
        "~~",
        "!",
        "[x]",
        "](",
        "&amp;",
        "&copy;",
        "<b>",
        "<https://homing.example/a_b>",
        "\\{{ no }}",
        "{.button}",
        "{{",
        "}}",
        "|",
        "\\",
        "\\*",
        "é – “x”",
        "例え",
        "---",
        "===",
    ]
) | st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=6)
FIELD = st.sampled_from(["{{ name }}", "{{ name|there }}", "{{name|*a* | b}}", "{{ archive_url }}"])
ADDRESS = st.sampled_from(
    [
        "https://homing.example/",
        "https://homing.example/a_(b)",
        "{{ archive_url }}",
        "<https://a.example/a b>",
        'https://a.example/?n={{ name }}&m=1 "Title"',
        "mailto:a@b.example",
        "#part",
        "/images/x.png",
        "javascript:x",
    ]
)


def _inline(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    braces = st.sampled_from(
        ["", "{.button}", "{width=50%}", "{align=left width=300px}", "{other}"]
    )
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(" ".join),
        st.lists(inner, min_size=1, max_size=3).map("".join),
        inner.map("*{}*".format),
        inner.map("**{}**".format),
        inner.map("~~{}~~".format),
        inner.map("`{}`".format),
        st.builds("[{}]({}){}".format, inner, ADDRESS, braces),
        st.builds("![{}]({}){}".format, inner, ADDRESS, braces),
        st.builds("{}[^{}]".format, inner, st.sampled_from(["1", "note", "none"])),
        st.builds("[{}][ref]".format, inner),
        st.builds("{}{}{}".format, inner, st.sampled_from(["\n", "  \n", "\\\n"]), inner),
    )


LINE = st.recursive(WORDS | FIELD, _inline, max_leaves=6)


def _block(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def prefixed(first: str, then: str) -> st.SearchStrategy[str]:
        return inner.map(lambda text: first + text.replace("\n", f"\n{then}"))

    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("\n\n".join),
        st.lists(inner, min_size=1, max_size=3).map("\n".join),
        prefixed("> ", "> "),
        prefixed("- ", "  "),
        prefixed("* ", "  "),
        prefixed("3. ", "   "),
        prefixed("1) ", "   "),
        prefixed("[^1]: ", "    "),
        prefixed("[^note]: ", ""),
    )


BLOCK = st.recursive(
    st.one_of(
        LINE,
        LINE.map("## {}".format),
        LINE.map("{}\n---".format),
        LINE.map("```py\n{}\n```".format),
        LINE.map("    {}".format),
        LINE.map("~~~\n{}".format),
        st.builds("| {} | b |\n| :-: | --- |\n| {} | {{{{ name|x }}}} |".format, LINE, LINE),
        st.builds("{}|{}\n---|--:".format, LINE, LINE),
        st.sampled_from(
            [
                "---",
                "***",
                "[ref]: https://ref.example/x 'Title'",
                "[^empty]:",
                "",
                "\n",
                "<div>",
                "https://youtu.be/a_c-_fghijk",
                "-",
                "1.",
                ">",
                "- a\n- b\n\n* c",
                "1. a\n\n1) b",
            ]
        ),
    ),
    _block,
    max_leaves=6,
)


QUICKLY = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
    ],
)


@pytest.fixture
def editor(chromium) -> Iterator[Page]:
    """Return a page that can import the editor's modules."""

    def answer(route: Route) -> None:
        path = STATIC / route.request.url.split("/", 3)[3]
        if path.is_file():
            route.fulfill(path=path, content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html>", content_type="text/html")

    with chromium.new_page() as page:
        page.route("http://homing.example/**", answer)
        page.goto("http://homing.example/")
        yield page


@QUICKLY
@given(letter=BLOCK)
@example("A\n\n\n\n*b*  \n\n- c\n\n\n- d\n")
@example("```\nwithout an end\n\n")
@example("[^1]: a note\n\n      code in it\n\nText[^1]")
@pytest.mark.django_db(transaction=True)
def test_every_letter_comes_back(editor: Page, letter: str) -> None:
    made = editor.evaluate(NEWLY_WRITTEN, [letter, VIDEO_ADDRESS])
    assert made["kept"] == letter
    assert meaning(made["rewritten"]) == meaning(letter), made["rewritten"]
    assert made["again"] == made["rewritten"]


@QUICKLY
@given(letters=st.tuples(BLOCK, BLOCK))
@pytest.mark.django_db(transaction=True)
def test_blocks_that_are_moved_stay_as_they_are(editor: Page, letters: tuple[str, str]) -> None:
    # A footnote that is gone leaves its number as text, which is right.
    assume(not any("[^" in letter for letter in letters))
    made = editor.evaluate(MOVED, letters)
    assert made["found"] == (made["moved"] or made["found"]), made["written"]


class Meaning(HTMLParser):
    """What a reader sees: blocks, and words with their formats in any order."""

    def __init__(self, letter: str) -> None:
        super().__init__()
        self.formats: list[tuple[str, ...]] = []
        self.parts: list[tuple[str, object]] = []
        self.feed(re.sub(r"[0-9a-f]{8}(?=-)", "id", render_markdown(letter)))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in FORMATS:
            self.formats.append((tag, str(attrs)))
        else:
            self._add("begin", (tag, str(attrs), frozenset(self.formats)))

    def handle_endtag(self, tag: str) -> None:
        if tag in FORMATS:
            self.formats.pop()
        else:
            self._add("end", tag)

    def handle_data(self, data: str) -> None:
        words = re.sub(r"\s+", " ", data)
        formats = frozenset(self.formats)
        if self.parts and self.parts[-1][0] == "words":
            before, same = self.parts[-1][1]
            if same == formats or not words.strip() or not before.strip():
                words = re.sub(r"\s+", " ", before + words)
                formats = same if before.strip() else formats
                self.parts.pop()
        self._add("words", (words, formats))

    def _add(self, kind: str, value: object) -> None:
        self.parts.append((kind, value))


def meaning(letter: str) -> list[tuple[str, object]]:
    """Return what a reader sees, without blanks at the edges of blocks."""
    parts = []
    for kind, value in Meaning(letter).parts:
        if kind == "words":
            words, formats = value
            if not words.strip():
                continue
            value = (words.strip(), formats)
        parts.append((kind, value))
    return parts
