"""Markdown becomes the HTML of a letter, with unchanged merge fields."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.mail.colours_and_typefaces import look_of
from delivery.mail.inline_css import inline_styles
from delivery.mail.merge_fields import FIELD_PATTERN, FieldTemplate
from delivery.models import Newsletter
from publishing.content.markdown import MAX_REFERENCES, render_markdown
from publishing.content.sanitise_html import sanitise_html
from publishing.content.text_part import html_to_text

PLAIN = look_of(Newsletter())


def one_line(markdown: str) -> str:
    return render_markdown(markdown).replace("\n", "")


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("Dear {{ name|there }},", "<p>Dear {{ name|there }},</p>"),
        ("# Dear {{ name }}", "<h1>Dear {{ name }}</h1>"),
        ("Dear {{ name }}\n===", "<h1>Dear {{ name }}</h1>"),
        ("**{{ name|there }}**", "<p><strong>{{ name|there }}</strong></p>"),
        ("a**{{ name }}**b", "<p>a<strong>{{ name }}</strong>b</p>"),
        ("- {{ name }}\n- x", "<ul><li>{{ name }}</li><li>x</li></ul>"),
        ("> {{ name }}", "<blockquote><p>{{ name }}</p></blockquote>"),
        ("{{ name|*not* _this_ `way` }}", "<p>{{ name|*not* _this_ `way` }}</p>"),
        ("{{name}}{{email}}", "<p>{{name}}{{email}}</p>"),
        ("{{{ pm:unsubscribe }}}", "<p>{{{ pm:unsubscribe }}}</p>"),
    ],
)
def test_merge_field_survives_everywhere_in_the_text(written: str, made: str) -> None:
    assert one_line(written) == made


@pytest.mark.parametrize(
    "written",
    [
        "[read]({{ archive_url }})",
        "[read](<{{ archive_url }}>)",
        "[read][there]\n\n[there]: {{ archive_url }}",
        "[read]\n\n[read]: {{ archive_url }}",
    ],
)
def test_field_as_link_address_keeps_spaces_and_braces(written: str) -> None:
    assert one_line(written) == '<p><a href="{{ archive_url }}">read</a></p>'


def test_only_an_address_in_angle_brackets_is_a_link() -> None:
    field = "{{ archive_url }}"
    assert one_line(f"<{field}>.") == f'<p><a href="{field}">{field}</a>.</p>'
    address = f"{field}?e={{{{ email }}}}#a"
    assert one_line(f"<{address}>") == f'<p><a href="{address}">{address}</a></p>'
    for text in ("<{{ name }}>", f"\\<{field}>", f"<{field} x>", f"`<{field}>`", f"<x/{field}>"):
        assert "<a" not in one_line(text)


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("[x](https://e.org/?to={{ email }}&a=1)", "https://e.org/?to={{ email }}&amp;a=1"),
        ("[x](https://{{ name|www }}.example.org/)", "https://{{ name|www }}.example.org/"),
        ("[x]({{{ pm:unsubscribe }}})", "{{{ pm:unsubscribe }}}"),
        ("[x](mailto:{{ email }})", "mailto:{{ email }}"),
    ],
)
def test_a_field_within_an_address_stays_a_field(written: str, made: str) -> None:
    assert f'href="{made}"' in render_markdown(written)


def test_field_within_title_or_alt_keeps_surrounding_quotes() -> None:
    made = render_markdown('![for {{ name|"you" }}](/p.png "to {{ name }}")')
    assert 'alt="for {{ name|&quot;you&quot; }}" title="to {{ name }}"' in made


def test_bar_of_a_field_does_not_end_a_cell() -> None:
    made = one_line("| a | b |\n|---|---|\n| {{ name|there }} | y |")
    assert "<td>{{ name|there }}</td><td>y</td>" in made


def test_a_fallback_in_markdown_is_words_and_no_html() -> None:
    made = render_markdown("{{ name|<b>you</b> & me }}")
    assert made == "<p>{{ name|&lt;b&gt;you&lt;/b&gt; &amp; me }}</p>\n"
    assert FieldTemplate(made, html=True).fill({}) == "<p>&lt;b&gt;you&lt;/b&gt; &amp; me</p>\n"


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_language_of_a_code_block_is_removed(fence: str) -> None:
    assert render_markdown(f"{fence} {{{{ name }}}}\nx\n{fence}") == "<pre><code>x\n</code></pre>\n"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("`${{ secrets.X }}`", "<code>${{ secrets.X }}</code>"),
        ("```\n{% if %}{{ x }}\n```", "<code>{% if %}{{ x }}\n</code>"),
        ("~~~\n{{\n~~~\nx }}", "<code>{{\n</code></pre>\n<p>x }}</p>"),
        ("    {{ x }}", "<code>{{ x }}\n</code>"),
        (r"`\frac{{a}}{b}`", r"<code>\frac{{a}}{b}</code>"),
        (r"`\{{ x }}`", r"<code>\{{ x }}</code>"),
        ("Between `{{` and `}}`", "<code>{{</code> and <code>}}</code>"),
        ("`{{ a|` and `}}`", "<code>{{ a|</code> and <code>}}</code>"),
        (r"\{{ x }}", "<p>{{ x }}</p>"),
        (r"\\\{{ x }}", r"<p>\{{ x }}</p>"),
        ("&#123;&#123; x &rcub;&#125;", "<p>{{ x }}</p>"),
        (r"![\{{ x }}](/a.png)", 'alt="{{ x }}"'),
    ],
)
def test_braces_in_code_and_after_a_backslash_are_text(written: str, shown: str) -> None:
    made = render_markdown(written)
    assert shown in unescape(made)
    assert FIELD_PATTERN.search(made) is None


def test_two_backslashes_are_one_before_a_field() -> None:
    assert render_markdown(r"\\{{ name }}") == "<p>&#92;{{ name }}</p>\n"


FIELDS = st.sampled_from(
    ["{{ name }}", "{{name|there}}", "{{ name|a *b* }}", "{{ archive_url }}", "{{{ pm:x }}}"]
)
MARKS = st.sampled_from(
    ["*", "**", "_", "[", "](", ")", "# ", "> ", "- ", "1. ", "|", "|-|-|\n", "\n",
     "\n\n", "~~", "<", ">", "&", "&amp;", "!", "https://", '"', "word", " ", "---"]
)  # fmt: skip


@given(st.lists(FIELDS | MARKS, max_size=25))
def test_every_field_survives_once_in_any_markdown(pieces: list[str]) -> None:
    written = "".join(pieces)
    # Skip letters with references, titles or languages of code: these words are in the Markdown,
    # but not in the HTML.
    if "]:" in written or "](" in written or "~~~" in written:
        return
    assert FIELD_PATTERN.findall(render_markdown(written)) == FIELD_PATTERN.findall(written)


@given(st.text(max_size=200))
def test_any_text_renders_as_markdown(written: str) -> None:
    render_markdown(written)


def test_html_within_markdown_stays_words() -> None:
    assert one_line("<script>x</script>") == "<p>&lt;script&gt;x&lt;/script&gt;</p>"
    assert one_line("~~old~~ new") == "<p><s>old</s> new</p>"
    assert one_line("![Eight *swifts*](/pictures/1.png)") == (
        '<p><img src="/pictures/1.png" alt="Eight swifts" /></p>'
    )


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "vbscript:x",
        "data:text/html,x",
        "{{ name|javascript:alert(1) }}",
        "{{ name| javascript:alert(1) }}",
        "java{{ name|script:alert(1) }}",
    ],
)
@pytest.mark.parametrize("written", ["[x](<{}>)", "![x](<{}>)", "[x]\n\n[x]: <{}>"])
def test_a_dangerous_address_becomes_no_link_or_image(address: str, written: str) -> None:
    made = render_markdown(written.format(address))
    assert "href" not in made
    assert "src" not in made


def test_bare_addresses_are_words_and_bracketed_ones_are_links() -> None:
    assert "<a" not in render_markdown("https://example.org")
    assert '<a href="https://example.org">https://example.org</a>' in render_markdown(
        "<https://example.org>"
    )


TABLE = """\
| Year | Seen | Birds |
|:-----|:----:|------:|
| 2026 | *3 August* | 14 |
"""


def test_table_headers_get_a_scope_and_numbers_a_class() -> None:
    assert one_line(TABLE) == (
        '<table><thead><tr><th scope="col">Year</th>'
        '<th scope="col" style="text-align:center">Seen</th>'
        '<th scope="col" class="num">Birds</th></tr></thead>'
        "<tbody><tr><td>2026</td>"
        '<td style="text-align:center"><em>3 August</em></td>'
        '<td class="num">14</td></tr></tbody></table>'
    )
    shown = sanitise_html(render_markdown(f"{TABLE}\n~~a~~ `b`\n\n1. c\n\n---\n\n> d"))
    classes = ('scope="col"', 'class="num"')
    for kept in (*classes, "<thead>", "<s>", "<code>", "<ol>", "<hr>", "<blockquote>"):
        assert kept in shown
    assert "style=" not in shown


BUTTON = "[Get *it*](https://e.org/?to={{ email }}){.button}"


def test_button_is_a_cell_in_mail_and_a_link_elsewhere() -> None:
    made = render_markdown(BUTTON)
    assert made.startswith('<p class="button"><a href="https://e.org/?to={{ email }}">Get ')
    mail = inline_styles(made, PLAIN)
    assert mail.startswith('<table class="button"')
    assert "padding:13px 26px" in mail.partition("<a ")[0]
    assert '<a class="press" href="https://e.org/?to={{ email }}"' in mail
    assert sanitise_html(made).startswith('<p class="button"><a href=')
    assert html_to_text(made) == "Get it (https://e.org/?to={{ email }})"


@pytest.mark.parametrize("around", ["Now {}.", "- {}", "[a](/b) {}"])
def test_a_button_needs_its_own_paragraph(around: str) -> None:
    made = render_markdown(around.format(BUTTON))
    assert "button" not in made
    assert "href=" in made


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("{width=50%}", ' width="268"'),
        ("{width=300px align=left}", ' width="300" align="left"'),
        ("{align=center}", ' align="center"'),
        ("{width=9000}", ' width="536"'),
    ],
)
def test_picture_has_a_width_and_an_alignment_everywhere(written: str, made: str) -> None:
    html = render_markdown(f"![Swifts](/a.png){written}")
    assert f'<img src="/a.png" alt="Swifts"{made} />' in html
    assert made in inline_styles(html, PLAIN)
    assert made in sanitise_html(html)


@pytest.mark.parametrize("braces", ["{onclick=x}", "{width=0}", "{.wide}", "{ }", "{align=top}"])
def test_other_braces_after_a_picture_are_words(braces: str) -> None:
    assert f'alt="" />{braces}</p>' in render_markdown(f"![](/a.png){braces}")


NOTES = "One[^a] and again[^a].\n\n[^a]: A *note* for {{ name }}.\n"


def test_footnotes_link_both_ways_and_stay_legible_as_text() -> None:
    made, other = render_markdown(NOTES), render_markdown(f"{NOTES}More.")
    ids = re.findall(r'id="([^"]+)"', made)
    assert len(ids) == 3
    assert not set(ids) & set(re.findall(r'id="([^"]+)"', other))
    for shown in (inline_styles(made, PLAIN), sanitise_html(made)):
        assert sorted(re.findall(r'id="([^"]+)"', shown)) == sorted(ids)
        assert set(re.findall(r'href="#([^"]+)"', shown)) == set(ids)
    text = "One[1] and again[1].\n\n* * *\n\n1. A note for {{ name }}."
    assert html_to_text(made) == text


def test_a_letter_has_a_limited_number_of_footnote_references() -> None:
    made = render_markdown("[^a]" * (MAX_REFERENCES + 9) + "\n\n[^a]: x")
    assert made.count("<sup") == MAX_REFERENCES
